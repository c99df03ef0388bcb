// The Train tab: what is trained and how, buttons that start and hold it, and the curves while they grow.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ui/commands/commands.h"
#include "ui/panels/train_parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kFormWidth = 232;
constexpr float kFormBeside = 620;  ///< a centre this wide has form and plots side by side

std::string steps_text(const TrainSnapshot& train) {
  std::string text;
  for (const auto& curve : train.curves) {
    text += fmt::format("{}step {} of {}", text.empty() ? "" : ", ",
                        grouped_text(static_cast<int64_t>(curve->steps.size())),
                        grouped_text(curve->options.steps));
    if (train.curves.size() > 1) text += " (" + curve->name + ")";
  }
  return text;
}

std::string seconds_left(const TrainSnapshot& train) {
  double left = 0;
  for (const auto& curve : train.curves) {
    if (!curve->steps.empty() && curve->ended.empty()) left += curve->steps.back()->report.seconds_left;
  }
  return fmt::format("{:.0f} s left", left);
}

/// Where the run stands, in one line.
std::string state_text(const TrainSnapshot& train) {
  switch (train.state) {
    case TrainState::Idle:
      return "Nothing has been trained yet. Start trains the model at the left, live, beside the Stage.";
    case TrainState::Preparing:
      return train.activity.empty() ? "Preparing …" : "Preparing: " + train.activity + " …";
    case TrainState::Running:
      return fmt::format("{} · {}", steps_text(train), seconds_left(train));
    case TrainState::Paused:
      if (train.frozen)
        return fmt::format("Step {} is frozen: Stage and Inspector show it.", train.frozen->step);
      return "Paused at " + steps_text(train);
    case TrainState::Done:
      return "Done: " + steps_text(train);
    case TrainState::Stopped:
      return "Stopped at " + steps_text(train);
    case TrainState::Refused:
      return "Not possible: " + train.message;
    case TrainState::Failed:
      return "Failed: " + train.message;
  }
  return {};
}

/// What is being learnt by what, and where it was measured.
std::string run_text(const TrainSnapshot& train) {
  if (train.curves.empty() || !train.curves.front()->plan) return {};
  const Settings& settings = train.curves.front()->plan->program.settings;
  const std::string what = train.curves.size() > 1
                               ? fmt::format("{}, {} layers, post-LN and pre-LN, same seed and batches",
                                             settings.model.title, settings.model.layers)
                               : fmt::format("{}, {} layers", settings.model.title, settings.model.layers);
  return fmt::format("{} · T = {}, D = {} · {} · batch {} × {} · {}, {} tokens · measured on {}", what,
                     settings.tp, settings.dp, to_string(settings.dtype), settings.batch, settings.seq,
                     train.text.name, format_count(static_cast<double>(train.text.train_tokens)),
                     train.machine);
}

void draw_command(const Context& context, const std::string& text, ButtonLook look, const char* id) {
  const UiCommand& command = find_command(id);
  const std::string explanation = title_with_key(command) + "\n" + command.help;
  if (draw_button(context, id, text, look, command.is_enabled(context), explanation)) command.run(context);
  ImGui::SameLine();
}

void draw_buttons(const Context& context) {
  const TrainSnapshot& train = context.train;
  const bool begun = train.is_active() || train.state == TrainState::Paused;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(context.px(8), 0));
  draw_command(context, begun ? ICON_FA_UNDO "  Start anew" : ICON_FA_PLAY "  Start",
               begun ? ButtonLook::Plain : ButtonLook::Accent, "train.start");
  const bool paused = train.state == TrainState::Paused;
  draw_command(context, paused ? ICON_FA_PLAY "  Go on" : ICON_FA_PAUSE "  Pause",
               paused ? ButtonLook::Accent : ButtonLook::Plain, "train.pause");
  draw_command(context, ICON_FA_STOP "  Stop", ButtonLook::Plain, "train.stop");
  draw_command(context, ICON_FA_SEARCH_PLUS "  Freeze", ButtonLook::Plain, "train.freeze");
  ImGui::PopStyleVar();
  ImGui::NewLine();
}

}  // namespace

void draw_train(const Context& context) {
  TrainView& view = context.view.train;
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();

  const bool beside = room.x >= context.px(kFormBeside);
  // Without room for both, the form gives way to the curves once there are any.
  const bool has_curves = !context.train.curves.empty();
  const bool form_shown = beside || view.form_open || !has_curves;
  const bool plots_shown = beside || !form_shown;

  const std::array<std::string, 2> pages{"one model", "post-LN and pre-LN"};
  const int clicked = choice_row(context, "page", at, pages, view.comparison ? 1 : 0);
  if (clicked >= 0) view.comparison = clicked == 1;
  if (!beside && has_curves) {
    const std::array<std::string, 2> sides{"choices", "curves"};
    const ImVec2 place{at.x + choice_row_width(context, pages) + context.px(12), at.y};
    const int side = choice_row(context, "side", place, sides, form_shown ? 0 : 1);
    if (side >= 0) view.form_open = side == 0;
  }
  ImGui::SetCursorScreenPos({at.x, at.y + choice_row_height(context) + context.px(12)});
  draw_buttons(context);

  float y = at.y + choice_row_height(context) + context.px(12) + context.px(kControlHeight) + context.px(12);
  const bool wrong = context.train.state == TrainState::Refused || context.train.state == TrainState::Failed;
  y += draw_wrapped(list, {at.x, y}, wrong ? type.strong : type.body, state_text(context.train), room.x);
  const std::string what = run_text(context.train);
  if (!what.empty())
    y += context.px(4) + draw_wrapped(list, {at.x, y + context.px(4)}, type.note, what, room.x);
  for (const auto& curve : context.train.curves) {
    if (curve->ended.empty() || wrong) continue;
    y += context.px(4) +
         draw_wrapped(list, {at.x, y + context.px(4)}, type.body, curve->name + ": " + curve->ended, room.x);
  }
  y += context.px(16);

  const float height = std::max(context.px(80), at.y + room.y - y);
  const float form_width = beside ? context.px(kFormWidth) : room.x;
  if (form_shown) {
    ImGui::SetCursorScreenPos({at.x, y - context.px(12)});
    ImGui::BeginChild("form", {form_width, height + context.px(12)});
    draw_train_form(context);
    ImGui::EndChild();
  }
  if (!plots_shown) return;
  const float left = beside ? form_width + context.px(24) : 0;
  draw_train_plots(context, {at.x + left, y}, {room.x - left, height});
}

}  // namespace shardlens::ui
