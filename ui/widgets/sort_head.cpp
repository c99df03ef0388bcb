// Draws a sortable column's name and handles clicks on it.
#include "ui/widgets/sort_head.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include "ui/panels/parts.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {

float sort_head_height(const Context& context) {
  return context.px(20);
}

bool sort_head(const Context& context, const SortColumn& column, ImVec2 at, float room, SortOrder& order) {
  const Type type(context);
  const bool sorts = order.column == column.column;
  std::string words = column.words;
  if (sorts) words += order.descending ? " " ICON_FA_CARET_DOWN : " " ICON_FA_CARET_UP;
  words = fitted(type.note, words, room);
  const float width = std::max(text_width(type.note, words), context.px(8)),
              height = sort_head_height(context);
  const float left = column.align == Align::Right ? at.x - width : at.x;
  ImGui::SetCursorScreenPos({left, at.y});
  const bool clicked = click_area(fmt::format("sort {}", column.words).c_str(), {width, height});
  const bool hovered = ImGui::IsItemHovered();
  draw_text(ImGui::GetWindowDrawList(), {left, at.y + (height - type.note.size) / 2},
            in(type.note, sorts || hovered ? context.theme.text : context.theme.dim), words);
  if (hovered) {
    std::string help = column.help != nullptr ? std::string(column.help) + ". " : std::string();
    tooltip(context, help + "Click to sort by this column");
  }
  if (clicked) order = order.clicked(column.column, column.descends_first);
  return clicked;
}

}  // namespace shardlens::ui
