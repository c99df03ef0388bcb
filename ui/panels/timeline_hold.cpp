// A stretch in which a rank stood still on purpose: an outline with what it is, and nothing in it, for
// nothing was done.
#include <imgui.h>

#include <algorithm>
#include <string>

#include "ui/panels/timeline.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {

void draw_hold(const Context& context, ImVec2 min, ImVec2 max, ImVec2 shown, double held_seconds) {
  max.x = std::max(max.x, min.x + context.px(2));
  if (max.x < shown.x || min.x > shown.y) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_dashed_rect(list, {min.x, min.y + context.px(1)}, {max.x - context.px(1), max.y - context.px(1)},
                   context.theme.communication, std::max(1.0f, context.px(1.5f)), context.px(4));
  const TextStyle text = timeline_text(context, context.fonts.body, kSmallSize, context.theme.communication);
  if (max.y - min.y < text.size) return;
  const float from = std::max(min.x, shown.x);
  const float room = std::min(max.x, shown.y) - from - context.px(12);
  for (const std::string& label : {"late by " + format_seconds(held_seconds), std::string("late")}) {
    if (text_width(text, label) > room) continue;
    draw_text(list, {from + context.px(6), (min.y + max.y - text.size) / 2}, text, label);
    break;
  }
}

}  // namespace shardlens::ui
