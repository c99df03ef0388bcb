// The loss lens: the logits of a cut vocabulary are either gathered for the loss, or only three numbers a
// token are reduced. Both are planned; a button runs both.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/units.h"
#include "engine/config/presets.h"
#include "engine/runtime/snapshot.h"
#include "ui/lesson/lesson_view.h"
#include "ui/outbox.h"
#include "ui/panels/parts.h"
#include "ui/panels/traffic/traffic_parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kTable = 680;  ///< a narrower page has no room for a table with bars

/// One line of the comparison; the bytes are drawn as bars too.
struct Line {
  std::string label, fused, gathered;
  double fused_bytes = 0, gathered_bytes = 0;
  std::string provenance;
};

std::string ratio_text(double small, double large) {
  return small > 0 ? fmt::format("{:.3g} times as much", large / small) : std::string();
}

std::vector<Line> lines_of(const LossLens& lens) {
  const auto bytes = [](int64_t count) { return bytes_text(static_cast<double>(count)); };
  const LossFigures &fused = lens.fused, &gathered = lens.gathered;
  std::vector<Line> lines;
  lines.push_back({"each rank sends for it", bytes(fused.sent_bytes), bytes(gathered.sent_bytes),
                   static_cast<double>(fused.sent_bytes), static_cast<double>(gathered.sent_bytes),
                   "planned"});
  lines.push_back({fmt::format("the same, {} × {} tokens, vocabulary {}, T = {}", lens.paper.batch,
                               lens.paper.seq, grouped_text(lens.paper.model.vocab), lens.paper.tp),
                   bytes(lens.paper_fused_bytes), bytes(lens.paper_gathered_bytes),
                   static_cast<double>(lens.paper_fused_bytes),
                   static_cast<double>(lens.paper_gathered_bytes), "planned"});
  lines.push_back(
      {"most memory a rank holds", bytes(fused.peak_bytes), bytes(gathered.peak_bytes), 0, 0, "planned"});
  if (!fused.measured || !gathered.measured) return lines;
  lines.push_back({"most memory a rank held", bytes(fused.high_water_bytes), bytes(gathered.high_water_bytes),
                   0, 0, "measured"});
  lines.push_back({"logits, loss and their gradients", format_seconds(fused.loss_seconds),
                   format_seconds(gathered.loss_seconds), 0, 0, "measured"});
  lines.push_back({"the whole step", format_seconds(fused.step_seconds),
                   format_seconds(gathered.step_seconds), 0, 0, "measured"});
  lines.push_back({"the loss", fmt::format("{:.6f}", fused.loss), fmt::format("{:.6f}", gathered.loss), 0, 0,
                   "measured"});
  return lines;
}

TextTable copied(const std::vector<Line>& lines) {
  TextTable table{{{"loss"}, {"fused", Align::Right}, {"gathered", Align::Right}, {"provenance"}}, {}};
  for (const Line& line : lines)
    table.rows.push_back({line.label, line.fused, line.gathered, line.provenance});
  return table;
}

std::string verdict(const LossLens& lens) {
  const LossFigures &fused = lens.fused, &gathered = lens.gathered;
  if (!lens.note.empty()) return lens.note;
  if (!fused.measured || !gathered.measured)
    return "Not compared yet: the button runs a step of each and measures both.";
  const double difference = std::abs(fused.loss - gathered.loss) / std::max(std::abs(gathered.loss), 1e-300);
  return difference == 0
             ? "Both losses are equal to the last bit."
             : fmt::format("The losses agree within {} of their value: rounding.", format_error(difference));
}

void draw_bars(const Context& context, ImVec2 at, float width, const Line& line) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const double most = std::max(line.fused_bytes, line.gathered_bytes);
  if (most <= 0) return;
  const float height = std::round(context.px(6));
  const auto bar = [&](float y, double bytes, ImU32 colour) {
    const float length = std::max(1.0f, width * static_cast<float>(bytes / most));
    fill_rect(list, {at.x, y}, {at.x + length, y + height}, colour);
  };
  bar(at.y + context.px(3), line.fused_bytes, theme.forward);
  bar(at.y + context.px(3) + height + context.px(1), line.gathered_bytes, theme.communication);
}

/// Draws one line where the page is too narrow for a table, and for a class, which reads lengths before
/// figures: its bars have the whole width below its label.
/// Returns the height it took.
float draw_narrow_line(const Context& context, ImVec2 at, float width, const Line& line) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float right = at.x + width, row = type.body.size + context.px(6);
  const double most = std::max(line.fused_bytes, line.gathered_bytes);
  if (most <= 0) {
    const std::string both = fmt::format("fused {}, gathered {}", line.fused, line.gathered);
    draw_text(list, at, type.body, fitted(type.body, line.label, width - text_width(type.mono_note, both)));
    draw_text(list, {right, at.y + context.px(1)}, in(type.mono_note, theme.text), both, Align::Right);
    return row;
  }
  draw_text(list, at, type.body, fitted(type.body, line.label, width));
  float y = at.y + row;
  const float from = at.x + text_width(type.note, "gathered") + context.px(12);
  const float room = right - from - context.px(96);  // the longest bar's figure stands beside it
  const auto bar = [&](const char* name, ImU32 colour, double bytes, const std::string& figure) {
    const float length = std::max(context.px(2), room * static_cast<float>(bytes / most));
    draw_text(list, {at.x, y}, in(type.note, colour), name);
    fill_rect(list, {from, y + context.px(2)}, {from + length, y + type.note.size}, colour, context.px(2));
    draw_text(list, {from + length + context.px(8), y}, in(type.mono_note, theme.text), figure);
    y += type.note.size + context.px(5);
  };
  bar("fused", theme.forward, line.fused_bytes, line.fused);
  bar("gathered", theme.communication, line.gathered_bytes, line.gathered);
  return y + context.px(5) - at.y;
}

/// Draws the button at the lens's right top corner; returns its width.
float draw_button(const Context& context, const LossLens& lens, ImVec2 right_top) {
  const bool busy = context.snapshot.activity.find("loss") != std::string::npos;
  const bool possible = context.snapshot.state == RunState::Done && !context.snapshot.stale() && !busy;
  const std::string label = busy                  ? context.snapshot.activity
                            : lens.fused.measured ? "Run both again"
                                                  : "Run both";
  const Type type(context);
  const float width = text_width(type.note, label) + context.px(28);
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos({right_top.x - width, right_top.y});
  ImGui::BeginDisabled(!possible);
  ImGui::PushFont(nullptr, kSmallSize);
  if (ImGui::Button((label + "###run both losses").c_str(), {width, small_button_height(context)}))
    context.send(command::CompareLosses{});
  ImGui::PopFont();
  ImGui::EndDisabled();
  ImGui::SetCursorScreenPos(cursor);
  return width;
}

}  // namespace

float draw_loss_lens(const Context& context, const LossLens& lens, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float right = at.x + width - context.px(8);
  draw_button(context, lens, {right, at.y});
  draw_text(list, at, type.strong, "The loss lens: three numbers per token, or all its logits");
  float y = at.y + context.px(24);
  const Model& model = lens.settings.model;
  const int64_t columns = padded_vocab(model, lens.settings.tp);
  const std::string padded =
      columns == model.vocab ? "" : fmt::format(", {} with the padding", grouped_text(columns));
  const std::string words = fmt::format(
      "The vocabulary is cut over {} ranks. Fused, the ranks reduce each token's largest logit, its label's "
      "logit and its sum of exponentials. Gathered, every rank first collects all {} logits of every "
      "token{}. {}",
      lens.settings.tp, grouped_text(model.vocab), padded, verdict(lens));
  y += draw_wrapped(list, {at.x, y}, type.note, words, width - context.px(8)) + context.px(8);

  const std::vector<Line> lines = lines_of(lens);
  if (width <= context.px(kTable) || is_class(context.view)) {
    const float top = y;
    for (const Line& line : lines) y += draw_narrow_line(context, {at.x, y}, right - at.x, line);
    copyable_table("loss lens", {at.x, top}, {right, y}, [&] { return copied(lines); });
    return y - at.y;
  }
  const float column = context.px(width > context.px(760) ? 124 : 100);
  const float bars = std::min(context.px(220), width * 0.24f);
  const float tag = context.px(76);
  const float gathered_x = right - tag - bars - context.px(16), fused_x = gathered_x - column;
  draw_text(list, {fused_x, y}, in(type.note, theme.forward), "fused", Align::Right);
  draw_text(list, {gathered_x, y}, in(type.note, theme.communication), "gathered", Align::Right);
  y += context.px(20);
  rule(context, {at.x, y}, width);
  y += context.px(4);
  const float lines_top = y;
  for (const Line& line : lines) {
    const float label_room = fused_x - column - at.x;
    draw_text(list, {at.x, y + context.px(2)}, type.body, fitted(type.body, line.label, label_room));
    draw_text(list, {fused_x, y + context.px(2)}, type.mono, line.fused, Align::Right);
    draw_text(list, {gathered_x, y + context.px(2)}, type.mono, line.gathered, Align::Right);
    const ImVec2 bars_at{gathered_x + context.px(16), y};
    draw_bars(context, bars_at, bars, line);
    if (line.fused_bytes > 0) {
      const std::string ratio = ratio_text(line.fused_bytes, line.gathered_bytes);
      ImGui::SetCursorScreenPos(bars_at);
      ImGui::Dummy({bars, context.px(20)});
      if (ImGui::IsItemHovered()) show_tooltip(context, ratio);
    }
    draw_text(list, {right, y + context.px(3)}, type.note, line.provenance, Align::Right);
    y += context.px(23);
  }
  copyable_table("loss lens", {at.x, lines_top}, {right, y}, [&] { return copied(lines); });
  return y - at.y;
}

}  // namespace shardlens::ui
