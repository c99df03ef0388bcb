// The texts that models write while they learn: they continue the same prompt after every so many steps. So
// people can read what the loss means.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/base/shown.h"
#include "engine/train/train_snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/commands/commands.h"
#include "ui/outbox.h"
#include "ui/panels/train/train_parts.h"
#include "ui/panels/train/train_view.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kTextGap = 12;
constexpr float kLeastHeight = 110;  ///< in a lower window the page is scrolled
constexpr float kLeastForRow = 420;  ///< in a narrower page each setting has a row of its own
constexpr float kLeastColumn = 300;  ///< texts of two models are side by side if each has this width

/// Draws the prompt and the button, and below them the settings for writing. A change applies from the next
/// text on.
void draw_wish(const Context& context) {
  WritingWish& wish = context.view.of<TrainView>().writing;
  const std::string write = "Write";
  const float button = button_width(context, write);
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - button - context.px(8));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(context.px(8), context.px(8)));
  const bool entered = ImGui::InputTextWithHint("##prompt", "prompt: the models go on from it", &wish.prompt,
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  bool changed = ImGui::IsItemDeactivatedAfterEdit();
  ImGui::PopStyleVar();
  ImGui::SameLine(0, context.px(8));
  command_button(context, "train.write", write, ButtonLook::Accent);
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {context.px(12), 0});
  const int columns = ImGui::GetContentRegionAvail().x < context.px(kLeastForRow) ? 1 : 3;
  if (ImGui::BeginTable("how", columns, ImGuiTableFlags_SizingStretchSame | ImGuiTableFlags_NoPadOuterX)) {
    ImGui::TableNextColumn();
    changed |= value_row(
        context, "Every", std::array<int64_t, 6>{0, 10, 20, 50, 100, 500}, wish.every,
        [](int64_t steps) { return steps == 0 ? std::string("on demand") : fmt::format("{} steps", steps); },
        "A text is written before the first step and then after every so many steps, with the weights at "
        "that time");
    ImGui::TableNextColumn();
    changed |= value_row(
        context, "Length", std::array<int64_t, 5>{40, 80, 160, 320, 640}, wish.tokens,
        [](int64_t tokens) { return fmt::format("{} tokens", tokens); },
        "A text longer than a training sequence goes on from its own second half");
    ImGui::TableNextColumn();
    changed |= value_row(
        context, "Temperature", std::array<double, 5>{0, 0.5, 0.8, 1, 1.2}, wish.temperature,
        [](double value) { return value == 0 ? std::string("0, greedy") : fmt::format("{:g}", value); },
        "Below 1, likely tokens are chosen more often than the model predicts; at 0, always the likeliest");
    ImGui::EndTable();
  }
  ImGui::PopStyleVar();
  const UiCommand& command = find_command("train.write");
  if (entered && command.is_enabled(context)) {
    command.run(context);
  } else if (changed) {
    context.send(train_command::Write{wish});
  }
}

/// The loss a text was written at; empty before the first step.
std::string loss_words(const TrainCurve& curve, int64_t step) {
  if (step < 1 || static_cast<size_t>(step) > curve.steps.size()) return {};
  return fmt::format("loss {:.3f}", curve.steps[static_cast<size_t>(step - 1)]->report.loss);
}

std::string pace_words(const WrittenText& text) {
  const std::string written = fmt::format("{} tokens", text.tokens);
  if (text.going_on) return written + " …";
  if (text.end == WritingEnd::Stopped) return written + ", then a new request came";
  const std::string pace =
      fmt::format("{}, {} tokens/s", written,
                  format_count(static_cast<double>(text.tokens) / std::max(1e-9, text.seconds)));
  return pace + (text.end == WritingEnd::EndOfText ? " · then the text ended" : "");
}

/// Draws one text below its step; returns its height.
float draw_written(const Context& context, const TrainCurve& curve, const WrittenText& text, ImVec2 at,
                   float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::string head =
      text.step == 0 ? "Before the first step" : fmt::format("After step {}", grouped_text(text.step));
  draw_text(list, at, type.strong, head);
  const std::string loss = loss_words(curve, text.step);
  const std::string beside = (loss.empty() ? "" : loss + " · ") + pace_words(text);
  const float x = at.x + text_width(type.strong, head) + context.px(12);
  const float drop = std::round((type.strong.size - type.note.size) / 2);
  draw_text(list, {x, at.y + drop}, type.note, fitted(type.note, beside, at.x + width - x));
  const float top = at.y + type.strong.size + context.px(6);
  return top - at.y + draw_wrapped(list, {at.x, top}, type.body, printable(text.prompt + text.text), width) +
         context.px(kTextGap);
}

TextTable text_table(const TrainSnapshot& train) {
  TextTable table{{{"model"}, {"step", Align::Right}, {"text"}}, {}};
  for (const auto& curve : train.curves)
    for (const auto& text : curve->texts) {
      std::string line = printable(text->prompt + text->text);
      std::replace(line.begin(), line.end(), '\n', ' ');
      table.rows.push_back({curve->name, std::to_string(text->step), line});
    }
  return table;
}

/// Draws the texts of a model, in a column; returns its height.
float draw_column(const Context& context, const TrainCurve& curve, size_t index, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  float y = at.y;
  if (context.train.curves.size() > 1) {
    draw_text(list, {at.x, y}, in(type.strong, curve_colour(context.theme, index)), curve.name);
    y += type.strong.size + context.px(8);
  }
  if (!curve.can_write())
    y += draw_wrapped(list, {at.x, y}, type.body,
                      fmt::format("{} is an encoder: it fills in hidden words and cannot continue a text. "
                                  "Train a GPT model to see one write.",
                                  curve.options.settings.model.title),
                      width);
  if (!curve.writing_problem.empty())
    y += draw_wrapped(list, {at.x, y}, type.strong, "Not written: " + curve.writing_problem, width) +
         context.px(kTextGap);
  if (curve.can_write() && curve.texts.empty() && curve.writing_problem.empty())
    y += draw_wrapped(list, {at.x, y}, type.body,
                      "Nothing was written yet. Press Write for a text with the present weights.", width);
  for (auto text = curve.texts.rbegin(); text != curve.texts.rend(); ++text)
    y += draw_written(context, curve, **text, {at.x, y}, width);
  return y - at.y;
}

}  // namespace

void draw_train_text(const Context& context, ImVec2 min, ImVec2 size) {
  ImGui::SetCursorScreenPos(min);
  ImGui::BeginChild("text", {size.x, std::max(size.y, context.px(kLeastHeight))});
  draw_wish(context);
  ImGui::BeginChild("texts", {0, 0});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, gap = context.px(2 * kTextGap);
  const auto& curves = context.train.curves;
  const auto count = static_cast<float>(curves.size());
  const float column = std::floor((width - (count - 1) * gap) / count);
  const bool abreast = column >= context.px(kLeastColumn);
  float highest = 0, below = 0;
  for (size_t i = 0; i < curves.size(); ++i) {
    const ImVec2 place =
        abreast ? ImVec2{at.x + static_cast<float>(i) * (column + gap), at.y} : ImVec2{at.x, at.y + below};
    const float height = draw_column(context, *curves[i], i, place, abreast ? column : width);
    highest = std::max(highest, height);
    below += height;
  }
  const float height = abreast ? highest : below;
  ImGui::Dummy({width, height});
  copyable_table("written", at, {at.x + width, at.y + height}, [&] { return text_table(context.train); });
  ImGui::EndChild();
  ImGui::EndChild();
}

}  // namespace shardlens::ui
