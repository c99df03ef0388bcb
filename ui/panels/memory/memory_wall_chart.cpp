// The chart of the memory wall: one column per T, stacked by what the bytes are for, against a line at one
// device's memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "ui/panels/memory/memory_pages.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/parts.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace {

/// The place of one column.
struct ColumnPlace {
  float centre, width, slot;
  float base_y, top_y, wall_y, pixels_per_byte;
  double unit;  ///< bytes of the axis' unit
};

/// True if the names of all parts fit: either all are written or none.
bool names_fit(const TextStyle& style, float width) {
  return std::all_of(wall_parts().begin(), wall_parts().end(),
                     [&](const WallPart& part) { return text_width(style, part.name) + 4 < width; });
}

/// Draws a part's figure in the axis' unit, and in the first column its name, as a legend. Draws nothing if
/// it would not be readable.
void draw_part_label(const Context& context, const Wall& wall, size_t column, size_t part,
                     const ColumnPlace& place, ImVec2 min, ImVec2 max) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const double value = wall.columns[column].parts[part] / place.unit;
  std::array<char, 32> figure{};
  std::snprintf(figure.data(), figure.size(), value < 9.995 ? "%.2f" : "%.1f", value);
  const TextStyle numbers = in(type.mono_note, legible_on(context.theme, wall_part_colour(part)));
  const TextStyle words = in(type.note, numbers.colour);
  const std::string& name = wall_parts()[part].name;
  const float line = numbers.size + context.px(2);
  const bool named = column == 0 && max.y - min.y > 2 * line && names_fit(words, max.x - min.x);
  const float height = named ? 2 * line : line;
  const float y = std::round((min.y + max.y - height) / 2 + context.px(1));
  const bool crossed = place.wall_y > y - 1 && place.wall_y < y + height;
  if (max.y - min.y < height || crossed || text_width(numbers, figure.data()) > max.x - min.x) return;
  if (named) draw_text(list, {place.centre, y}, words, name, Align::Centre);
  draw_text(list, {place.centre, named ? y + line : y}, numbers, figure.data(), Align::Centre);
}

/// Draws one column: its parts, its total above, its T below. A click explains it in the table.
void draw_column(const Context& context, const Wall& wall, size_t index, const ColumnPlace& place) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const WallBytes& bytes = wall.columns[index];
  const int tp = wall.degrees[index];
  const double total = bytes.total();
  const bool fits = total <= wall.limit_bytes();
  const float left = std::round(place.centre - place.width / 2),
              right = std::round(place.centre + place.width / 2);

  float below = place.base_y;
  double sum = 0;
  for (size_t part = 0; part < bytes.parts.size(); ++part) {
    sum += bytes.parts[part];
    const float above = std::round(place.base_y - static_cast<float>(sum) * place.pixels_per_byte);
    const ImU32 colour = wall_part_colour(part);
    const float gap = below - above > 3 ? 1.0f : 0.0f;  // a thin gap between parts
    fill_rect(list, {left, above}, {right, below - (part == 0 ? 0 : gap)}, colour);
    draw_part_label(context, wall, index, part, place, {left, above}, {right, below});
    below = above;
  }

  // the total, above the column and clear of the wall
  const bool roomy = place.slot > context.px(92);
  const std::string amount = decimal_bytes(total);
  TextStyle figure = in(roomy ? type.figure : type.strong, fits ? theme.agreement : theme.communication);
  if (text_width(figure, amount) + context.px(4) > place.slot) figure.size = type.note.size;
  const std::string second =
      fits ? "fits" : ratio_text(total / wall.limit_bytes()) + (roomy ? " × the wall" : " ×");
  const float height = figure.size + type.note.size + context.px(6);
  float text_y = below - height;
  if (text_y < place.wall_y + context.px(3) && text_y + height > place.wall_y - context.px(3) && fits)
    text_y = place.wall_y - height - context.px(3);
  // A column that fits may have its figures above the wall: they stand on the page's own ground, not on the
  // glow of what does not fit.
  const float half =
      std::min(std::max(text_width(figure, amount), text_width(type.note, second)) / 2 + context.px(8),
               place.slot / 2);
  if (fits && text_y < place.wall_y)
    fill_rect(list, {place.centre - half, text_y - context.px(2)}, {place.centre + half, text_y + height},
              theme.window, context.px(4));
  draw_text(list, {place.centre, text_y}, figure, amount, Align::Centre);
  draw_text(list, {place.centre, text_y + figure.size + context.px(1)}, type.note, second, Align::Centre);

  // its T, in a box if the table explains this column
  const bool explained = tp == wall.explained;
  const float label_y = place.base_y + context.px(8);
  const std::string name = "T = " + std::to_string(tp);
  const float box = std::min(place.slot - context.px(4), std::max(place.width, context.px(132)));
  std::string remark;
  if (tp == wall.smallest)
    remark = place.slot > context.px(110) ? "smallest that fits" : "smallest";
  else if (tp == 1)
    remark = place.slot > context.px(150) ? "and every data-parallel copy" : "";
  if (tp == wall.smallest && text_width(type.note, remark) > box - context.px(4)) remark.clear();
  const ImVec2 box_min(std::round(place.centre - box / 2), label_y - context.px(4));
  const ImVec2 box_max(std::round(place.centre + box / 2),
                       label_y + type.strong.size + type.note.size + context.px(10));
  ImGui::SetCursorScreenPos({box_min.x, place.top_y});
  if (ImGui::InvisibleButton(name.c_str(), {box_max.x - box_min.x, box_max.y - place.top_y}))
    context.view.of<MemoryView>().tp = tp;
  const bool hovered = ImGui::IsItemHovered();
  if (explained || hovered)
    outline_rect(list, box_min, box_max, explained ? theme.forward : theme.line, context.px(6),
                 context.px(1.5f));
  draw_text(list, {place.centre, label_y}, type.strong, name, Align::Centre);
  draw_text(list, {place.centre, label_y + type.strong.size + context.px(3)},
            in(type.note, tp == wall.smallest ? theme.agreement : theme.dim), remark, Align::Centre);
}

}  // namespace

ImU32 wall_part_colour(size_t part) {
  switch (part) {
    case 0:
      return deepened(&Theme::forward, 0);
    case 1:
      return deepened(&Theme::forward, 0.55f);
    case 2:
      return deepened(&Theme::backward, 0);
    case 3:
      return deepened(&Theme::backward, 0.5f);
    default:
      return deepened(&Theme::backward, 0.9f);
  }
}

void draw_wall_chart(const Context& context, const Wall& wall, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float axis = context.px(48), margin = context.px(100), feet = context.px(52);
  const float left = min.x + axis, right = min.x + size.x - margin;
  const float slot = (right - left) / static_cast<float>(wall.columns.size());
  const double top = std::max(wall.columns.front().total(), wall.limit_bytes() * 1.25);
  const bool tera = top >= 2e12;
  const double unit = tera ? 1e12 : 1e9;
  // The axis' unit stands beside the first column's figures, or above them where it would meet them.
  const std::string unit_words = tera ? "TB per rank" : "GB per rank";
  const bool meets = text_width(type.note, unit_words) + context.px(64) > axis + slot / 2;
  const float unit_y = min.y + context.px(4);
  const ImVec2 plot_min(left, unit_y + (meets ? type.note.size : 0));
  const ImVec2 plot_max(right, min.y + size.y - feet);
  const float head = context.px(46);  // room for the tallest column's figures
  const float scale = (plot_max.y - plot_min.y - head) / static_cast<float>(top);
  auto y_of = [&](double bytes) { return std::round(plot_max.y - static_cast<float>(bytes) * scale); };
  const float wall_y = y_of(wall.limit_bytes());

  // beyond the wall: a glow that fades upward (a tint of the whole ground would be repainted pixel by pixel)
  const ImU32 glow = faded(theme.communication, 0.16f), none = faded(theme.communication, 0);
  list->AddRectFilledMultiColor({plot_min.x, std::max(plot_min.y, wall_y - context.px(48))},
                                {plot_max.x, wall_y}, none, none, glow, glow);
  draw_text(list, {min.x, unit_y}, type.note, unit_words);
  const double shown_top = top / unit;  // no line crosses the figures above the columns
  for (double tick :
       round_ticks(Stretch{0, shown_top}, std::max(3, static_cast<int>(size.y / context.px(56))))) {
    const float y = y_of(tick * unit) + 0.5f;
    list->AddLine({plot_min.x, y}, {plot_max.x, y}, tick > 0 ? faded(theme.line, 0.6f) : theme.line, 1);
    std::array<char, 32> label{};
    std::snprintf(label.data(), label.size(), "%g", std::abs(tick));
    draw_text(list, {plot_min.x - context.px(8), y - type.mono_note.size / 2}, type.mono_note, label.data(),
              Align::Right);
  }
  for (size_t i = 0; i < wall.columns.size(); ++i)
    draw_column(context, wall, i,
                {plot_min.x + slot * (static_cast<float>(i) + 0.5f), std::min(slot * 0.64f, context.px(168)),
                 slot, plot_max.y, plot_min.y, wall_y, scale, unit});
  fill_rect(list, {plot_min.x - context.px(4), wall_y - context.px(1)},
            {plot_max.x + context.px(4), wall_y + context.px(1)}, theme.communication);
  const float label_x = plot_max.x + context.px(10);
  draw_text(list, {label_x, wall_y - type.strong.size + context.px(2)}, in(type.strong, theme.communication),
            capacity(*wall.device));
  draw_text(list, {label_x, wall_y + context.px(4)}, in(type.note, theme.communication),
            fitted(type.note, one_device(*wall.device), margin - context.px(10)));
}

}  // namespace shardlens::ui
