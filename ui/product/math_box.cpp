// Places the marks of set mathematics, and draws them.
#include "ui/product/math_box.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardlens::ui {
namespace {

constexpr float kDash = 4;  // of a line's thickness

}  // namespace

void MathBox::place(const MathBox& box, ImVec2 at) {
  for (Mark mark : box.marks) {
    mark.from = {mark.from.x + at.x, mark.from.y + at.y};
    mark.to = {mark.to.x + at.x, mark.to.y + at.y};
    marks.push_back(std::move(mark));
  }
  above = std::max(above, box.above - at.y);
  below = std::max(below, box.below + at.y);
  width = std::max(width, at.x + box.width);
}

void MathBox::line(ImVec2 from, ImVec2 to, ImU32 colour, float thickness) {
  rect(MarkKind::Line, from, to, colour, thickness);
}

void MathBox::rect(MarkKind kind, ImVec2 from, ImVec2 to, ImU32 colour, float thickness) {
  Mark mark;
  mark.kind = kind;
  mark.from = from;
  mark.to = to;
  mark.colour = colour;
  mark.thickness = thickness;
  marks.insert(kind == MarkKind::Fill ? marks.begin() : marks.end(), mark);
}

void MathBox::draw(ImDrawList* list, ImVec2 at) const {
  for (const Mark& mark : marks) {
    const ImVec2 from{at.x + mark.from.x, at.y + mark.from.y}, to{at.x + mark.to.x, at.y + mark.to.y};
    switch (mark.kind) {
      case MarkKind::Text:
        draw_text(list, from, mark.text, mark.words);
        break;
      case MarkKind::Line:
        draw_line(list, from, to, mark.colour, mark.thickness);
        break;
      case MarkKind::Fill:
        fill_rect(list, from, to, mark.colour);
        break;
      case MarkKind::Outline:
        outline_rect(list, from, to, mark.colour, 0, mark.thickness);
        break;
      case MarkKind::Dashed:
        draw_dashed_rect(list, from, to, mark.colour, mark.thickness, mark.thickness * kDash);
        break;
    }
  }
}

MathBox text_box(const TextStyle& style, const std::string& words) {
  MathBox box;
  MathBox::Mark mark;
  mark.text = style;
  mark.text.size = std::max(1.0F, std::round(style.size));  // glyphs have whole sizes
  mark.words = words;
  const float ascent = style.font->GetFontBaked(mark.text.size)->Ascent;
  mark.from = {0, -ascent};
  box.width = text_width(mark.text, words);
  box.above = ascent;
  box.below = mark.text.size - ascent;
  box.marks.push_back(std::move(mark));
  return box;
}

MathBox gap_box(float width) {
  MathBox box;
  box.width = width;
  return box;
}

MathBox row_of(const std::vector<MathBox>& boxes) {
  MathBox all;
  for (const MathBox& box : boxes) all.place(box, {all.width, 0});
  return all;
}

}  // namespace shardlens::ui
