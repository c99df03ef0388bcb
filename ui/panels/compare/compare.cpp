// The Compare tab: what changes if the model is cut differently? Its four pages show two or three splits side
// by side, every split ranked, one split at several T, and two recorded runs.
#include <imgui.h>

#include <algorithm>
#include <array>

#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "engine/train/experiments/diff_session.h"
#include "engine/train/train_snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/compare/compare_pages.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/settings/difference.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

const std::array<std::string, 4> kPages{"side by side", "tournament", "sweep of T", "recordings"};

}  // namespace

std::string why_not_measured(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  if (context.comparison.measuring || context.diff.running || context.scaling.measures())
    return "Another measurement is still running";
  if (context.train.is_active())
    return "Training uses every core and would disturb the measurement: pause it first";
  if (context.breaks.is_active()) return "The sound and the broken run of the Break it tab must end first";
  if (snapshot.state == RunState::Planning || snapshot.state == RunState::Running ||
      !snapshot.activity.empty())
    return "The run on the Stage must end first";
  return {};
}

Settings but_for_split(Settings settings) {
  settings.split = Split{};
  return settings;
}

Settings but_for_degree(Settings settings) {
  settings.tp = 1;
  return settings;
}

std::string out_of_date(const Settings& of, const Settings& wanted) {
  if (of == wanted) return {};
  return "Out of date: this is " + difference(of, wanted) + ".";
}

float compare_choice_width(const Context& context) {
  return choice_row_width(context, kPages);
}

CompareHead compare_head(const Context& context, const std::string& title, const std::string& explanation,
                         const std::string& label, const std::string& refused) {
  const Type type(context);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x, right = at.x + room;
  const float choices = choice_row_width(context, kPages);
  const bool measuring = context.comparison.measuring;
  const std::string text =
      fitted_button(context, measuring ? "Stop: " + context.comparison.activity : label, room);
  const float button = button_width(context, text);
  const WordRoom words = room_for_words(context, room, std::max(choices, button) + context.px(20));
  const float below = at.y + page_title(context, title, at, room, choices) + context.px(6);
  const float end =
      below + context.px(6) +
      draw_wrapped(ImGui::GetWindowDrawList(), {at.x, below}, type.note, explanation, words.width);
  const float top = words.alone ? end : at.y + choice_row_height(context) + context.px(8);
  ImGui::SetCursorScreenPos({right - button, top});
  const bool clicked =
      draw_button(context, "measure", text, measuring ? ButtonLook::Plain : ButtonLook::Accent,
                  measuring || refused.empty(), measuring ? "The results so far are kept" : refused);
  if (clicked && measuring) context.send(comparison_command::Stop{});
  const ImVec2 content{at.x, std::max(end, top + context.px(kControlHeight + 8))};
  ImGui::SetCursorScreenPos(content);
  ImGui::Dummy({0, 1});  // one pixel, because Dear ImGui cuts off the fractions of a place
  ImGui::SetCursorScreenPos(content);
  return {clicked && !measuring, {right - button - context.px(12), top + context.px(kControlHeight / 2)}};
}

void draw_compare(const Context& context) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  ComparePage& page = context.view.of<CompareView>().page;
  const int clicked = choice_row(context, "page", {right - choice_row_width(context, kPages), at.y}, kPages,
                                 static_cast<int>(page));
  if (clicked >= 0) page = static_cast<ComparePage>(clicked);
  switch (page) {
    case ComparePage::Splits:
      return draw_side_by_side(context);
    case ComparePage::Tournament:
      return draw_tournament(context);
    case ComparePage::Sweep:
      return draw_sweep(context);
    case ComparePage::Recordings:
      return draw_recordings(context);
  }
}

}  // namespace shardlens::ui
