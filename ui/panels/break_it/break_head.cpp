// The switch that chooses which side of a planted mistake's run all panels show.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "engine/runtime/snapshot.h"
#include "ui/panels/break_it/break_parts.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/parts.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

std::string shown_words(const SeenBreak& seen) {
  const std::string run = seen.side() == BreakSide::Sound ? "the sound run"
                          : seen.side() == BreakSide::Broken
                              ? "the broken run"
                              : "what the broken run holds, minus the sound run";
  return seen.probe().step == 0 ? run : fmt::format("{}, training step {}", run, seen.probe().step);
}

}  // namespace

float draw_side_switch(const Context& context, const SeenBreak& seen, ImVec2 at, float width,
                       const std::string& title) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::array<std::string, kBreakSides.size()> names;
  for (const BreakSide side : kBreakSides) names[static_cast<size_t>(side)] = side_word(side);
  const float height = choice_row_height(context), middle = at.y + height / 2;
  const float taken = choice_row_width(context, names);
  // Where the title would be cut, the choice stands below it.
  const bool below = text_width(type.strong, title) > width - taken - context.px(12);
  const float room = below ? width : width - taken - context.px(12);
  const ImVec2 place{below ? at.x : at.x + width - taken, below ? at.y + height + context.px(4) : at.y};
  const int clicked = choice_row(context, "side", place, names, static_cast<int>(seen.side()));
  if (clicked >= 0) context.view.of<BreakView>().side = kBreakSides[static_cast<size_t>(clicked)];
  draw_text(list, {at.x, middle - type.strong.size / 2}, type.strong, fitted(type.strong, title, room));
  const float indent = text_width(type.strong, title) + context.px(12);
  if (indent < room)
    draw_text(list, {at.x + indent, middle - type.note.size / 2}, type.note,
              fitted(type.note, shown_words(seen), room - indent));
  return place.y - at.y + height + context.px(6);
}

void draw_break_head(const Context& context) {
  const std::optional<SeenBreak> seen = seen_break(context);
  if (!seen) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const char* const off = "Switch off";
  const float button = button_width(context, off), pad = context.px(12);
  const float height = context.px(kControlHeight);
  ImGui::SetCursorScreenPos({at.x + width - button, at.y});
  if (draw_button(context, off, off, ButtonLook::Plain, true,
                  "Takes the mistake back: every panel shows the run of the settings again (Esc)"))
    take_back(context);
  const float above = (height - choice_row_height(context)) / 2;
  const float taken =
      above + draw_side_switch(context, *seen, {at.x + pad, at.y + above}, width - button - 2 * pad,
                               facts_of(seen->report().fault).title);
  const float bottom = at.y + std::max(height, taken - context.px(6));
  if (seen->side() != BreakSide::Sound)
    draw_torn_line(ImGui::GetWindowDrawList(), {at.x + context.px(3), at.y}, {at.x + context.px(3), bottom},
                   context.theme.text, context.px(1.8f), context.px(4));
  ImGui::SetCursorScreenPos({at.x, bottom + context.px(8)});
}

}  // namespace shardlens::ui
