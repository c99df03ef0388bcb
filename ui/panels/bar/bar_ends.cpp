// Draws the ends of the Bar: see bar_ends.h.
#include "ui/panels/bar/bar_ends.h"

#include <icons_font_awesome_4.h>

#include "ui/commands/commands.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

const char* const kHint = "Ctrl+P";

TextStyle brand_style(const Context& c) {
  return {c.fonts.bold, c.px(17), c.theme.text};
}
TextStyle hint_style(const Context& c) {
  return {c.fonts.mono, c.px(kSmallSize), c.theme.dim};
}

}  // namespace

float brand_width(const Context& c) {
  return text_width(brand_style(c), "Shardlens") + c.px(20);
}

void draw_brand(const Context& c) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const TextStyle style = brand_style(c);
  draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + (c.px(kControlHeight) - style.size) / 2}, style,
            "Shardlens");
  ImGui::SetCursorScreenPos({at.x + brand_width(c), at.y});
}

float hint_width(const Context& c) {
  return text_width(hint_style(c), kHint) + c.px(12 + 20 + 16);
}

void draw_hint(const Context& c, float top) {
  const float width = hint_width(c);
  ImGui::SetCursorScreenPos({ImGui::GetWindowPos().x + ImGui::GetWindowWidth() - width - c.px(16), top});
  if (click_area("palette", {width, c.px(kControlHeight)})) find_command("view.palette").run(c);
  const ImVec2 min = ImGui::GetItemRectMin();
  const ImVec2 max = ImGui::GetItemRectMax();
  ImDrawList* list = ImGui::GetWindowDrawList();
  outline_rect(list, min, max, ImGui::IsItemHovered() ? c.theme.faint : c.theme.line, c.px(4));
  const TextStyle hint = hint_style(c);
  const TextStyle icon{c.fonts.body, c.px(kSmallSize), c.theme.dim};
  const float y = (min.y + max.y - hint.size) / 2;
  draw_text(list, {min.x + c.px(12), y}, hint, kHint);
  draw_text(list, {max.x - c.px(12), y}, icon, ICON_FA_SEARCH, Align::Right);
  tooltip(c, find_command("view.palette").help);
}

}  // namespace shardlens::ui
