// One number of the run "by hand", written out: every rank's sum, the sum over the ranks, and what would
// happen if an operation acted on the terms.
#include <algorithm>
#include <cfloat>

#include "ui/panels/parts.h"
#include "ui/panels/program/by_hand_view.h"

namespace shardlens::ui {
namespace {

constexpr float kLeastColumn = 260;

/// Lines below each other, wrapped at the width of a column. Without a list they are only measured.
class Column {
 public:
  Column(const Context& context, ImDrawList* list, ImVec2 at, float width)
      : context_(context), list_(list), at_(at), width_(width), y_(at.y) {}

  void add(const TextStyle& style, const std::string& words, float left = 0) {
    const float room = width_ - left;
    y_ += list_ != nullptr ? draw_wrapped(list_, {at_.x + left, y_}, style, words, room)
                           : wrapped_height(style, words, room);
    y_ += context_.px(3);
  }
  void add_labelled(const TextStyle& label, const std::string& who, const TextStyle& style,
                    const std::string& words) {
    if (list_ != nullptr) draw_text(list_, {at_.x, y_ + (style.size - label.size) / 2}, label, who);
    add(style, words, std::max(context_.px(50), text_width(label, who) + context_.px(10)));
  }
  float height() const { return y_ - at_.y; }

 private:
  const Context& context_;
  ImDrawList* list_;
  const ImVec2 at_;
  const float width_;
  float y_;
};

void add_sum(const Context& context, const lab::Worked& worked, Column& column) {
  const Theme& theme = context.theme;
  const Type type(context);
  column.add(type.strong, worked.title);
  column.add(in(type.mono, theme.dim), worked.equation);
  for (const lab::WorkedLine& line : worked.lines)
    column.add_labelled(in(type.note, line.rank >= 0 ? theme.rank_outlines[line.rank % 8] : theme.dim),
                        line.words, type.mono,
                        line.is_wrong ? line.sum + "  wrong by " + lab::hand_text(line.wrong_by) : line.sum);
}

void add_terms(const Context& context, const lab::WorkedTerms& terms, Column& column) {
  const Type type(context);
  column.add(in(type.strong, context.theme.communication), terms.question);
  column.add(type.mono, terms.of_terms);
  column.add(type.mono, terms.of_sum);
  column.add(type.body, terms.because);
}

/// Lays the parts out side by side if there is room, else below each other. Returns the height of all, or of
/// those parts that end within `most`: no line is cut where the rest scrolls.
float lay_out_number(const Context& context, ImDrawList* list, const lab::Worked& worked, ImVec2 at,
                     float width, float most) {
  const float gap = context.px(20), count = static_cast<float>(1 + worked.terms.size());
  const float room = (width - (count - 1) * gap) / count;
  const bool side_by_side = room >= context.px(kLeastColumn);
  float height = 0, within = 0;
  for (size_t i = 0; i <= worked.terms.size(); ++i) {
    const ImVec2 top = side_by_side ? ImVec2{at.x + static_cast<float>(i) * (room + gap), at.y}
                                    : ImVec2{at.x, at.y + height + (i > 0 ? context.px(8) : 0)};
    Column column(context, list, top, side_by_side ? room : width);
    i == 0 ? add_sum(context, worked, column) : add_terms(context, worked.terms[i - 1], column);
    height = std::max(height, top.y + column.height() - at.y);
    if (i == 0 || height <= most) within = height;
  }
  return within + context.px(8);
}

}  // namespace

float hand_number_height(const Context& context, const lab::Worked& worked, float width, float most) {
  return lay_out_number(context, nullptr, worked, {}, width, most);
}

float draw_hand_number(const Context& context, const lab::Worked& worked, ImVec2 at, float width) {
  return lay_out_number(context, ImGui::GetWindowDrawList(), worked, at, width, FLT_MAX);
}

}  // namespace shardlens::ui
