// Draws GeLU's curve, zoomed to a number's terms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/program/gelu.h"
#include "ui/product/bend.h"
#include "ui/widgets/label_places.h"

namespace shardlens::ui {
namespace {

constexpr int kCurvePoints = 96;

/// The part of the plane that a curve shows.
struct Plane {
  Rect room;
  double x0 = -1, x1 = 1, y0 = -1, y1 = 1;
  ImVec2 at(double x, double y) const {
    return {room.min.x + static_cast<float>((x - x0) / (x1 - x0)) * room.width(),
            room.max.y - static_cast<float>((y - y0) / (y1 - y0)) * room.height()};
  }
};

void draw_curve_line(const OpenedPage& page, const Plane& plane, Activation form, ImU32 colour,
                     float thickness) {
  ImVec2 before;
  for (int i = 0; i <= kCurvePoints; ++i) {
    const double x = plane.x0 + (plane.x1 - plane.x0) * i / kCurvePoints;
    const ImVec2 here = plane.at(x, gelu(form, x));
    if (i > 0) draw_line(page.list, before, here, colour, thickness);
    before = here;
  }
}

void draw_point(const OpenedPage& page, ImVec2 at, ImU32 colour, const std::string& number) {
  const float radius = page.px(number.empty() ? 6 : 9);
  fill_rect(page.list, {at.x - radius, at.y - radius}, {at.x + radius, at.y + radius}, colour, radius);
  const TextStyle style{page.context.fonts.bold, page.px(12), legible_on(page.theme, colour)};
  draw_text(page.list, {at.x, at.y - style.size * 0.56f}, style, number, Align::Centre);
}

/// The words beside a curve, placed so that none covers another one, a point or a line.
class Names {
 public:
  Names(const OpenedPage& page, const Rect& room) : page_(page) { room_.bounds = {room.min, room.max}; }

  void keep_clear(ImVec2 from, ImVec2 to) { room_.lines.push_back({from, to}); }
  void keep_clear_of(const Rect& place) { room_.taken.push_back({place.min, place.max}); }
  void keep_clear_of_point(ImVec2 at, float radius) {
    keep_clear_of({{at.x - radius, at.y - radius}, {at.x + radius, at.y + radius}});
  }
  /// `prefers`: as of LabelWish.
  void add(ImVec2 at, const TextStyle& style, const char* words, int prefers) {
    wishes_.push_back({at, {text_width(style, words), style.size}, prefers});
    words_.emplace_back(style, words);
  }
  void draw() const {
    const std::vector<ImVec2> corners = place_labels(wishes_, room_, page_.px(8));
    for (size_t i = 0; i < corners.size(); ++i)
      draw_text(page_.list, corners[i], words_[i].first, words_[i].second);
  }

 private:
  const OpenedPage& page_;
  LabelRoom room_;
  std::vector<LabelWish> wishes_;
  std::vector<std::pair<TextStyle, const char*>> words_;
};

}  // namespace

Bend bend_of(const Number& number) {
  const Activation form = number.program().settings.model.activation;
  Bend bend;
  for (size_t rank = 0; rank < number.parts.size(); ++rank) {
    if (!number.parts[rank].makes()) continue;
    bend.ranks.push_back(static_cast<int>(rank));
    bend.x.push_back(number.parts[rank].term);
    bend.y.push_back(gelu(form, bend.x.back()));
    bend.sum_of += bend.y.back();
  }
  bend.sum = number.is_terms() ? number.sum : number.value();
  bend.of_sum = gelu(form, bend.sum);
  return bend;
}

void draw_curve(const OpenedPage& page, const Number& number, const Bend& bend, const Rect& room) {
  const Activation form = number.program().settings.model.activation;
  Plane plane;
  std::vector<double> xs = bend.x;
  xs.insert(xs.end(), {0.0, bend.sum});
  const auto [low, high] = std::minmax_element(xs.begin(), xs.end());
  const double pad = std::max((*high - *low) * 0.12, 1e-9);
  plane.room = {{room.min.x + page.px(8), room.min.y + page.px(8)},
                {room.max.x - page.px(8), room.max.y - page.px(8)}};
  plane.x0 = *low - pad;
  plane.x1 = *high + pad;
  // The line through 0 that lies nearest to the terms.
  double across = 0, squares = 0;
  for (size_t i = 0; i < bend.x.size(); ++i) {
    across += bend.x[i] * bend.y[i];
    squares += bend.x[i] * bend.x[i];
  }
  const double slope = squares > 0 ? across / squares : 0.5;
  std::vector<double> ys{0, bend.of_sum, slope * plane.x0, slope * plane.x1};
  if (number.is_terms()) ys.push_back(bend.sum_of);
  for (int i = 0; i <= kCurvePoints; ++i)
    ys.push_back(gelu(form, plane.x0 + (plane.x1 - plane.x0) * i / kCurvePoints));
  const auto [bottom, top] = std::minmax_element(ys.begin(), ys.end());
  const double margin = (*top - *bottom) * 0.08;
  plane.y0 = *bottom - margin;
  plane.y1 = *top + margin;

  draw_line(page.list, plane.at(plane.x0, 0), plane.at(plane.x1, 0), page.theme.line, 1);
  draw_line(page.list, plane.at(0, plane.y0), plane.at(0, plane.y1), page.theme.line, 1);
  if (number.is_terms())
    draw_dashed_line(page.list, plane.at(plane.x0, slope * plane.x0), plane.at(plane.x1, slope * plane.x1),
                     page.theme.dim, page.thin(1.5f), page.px(5));
  draw_curve_line(page, plane, form, page.theme.text, page.thin(2));
  const TextStyle note = page.type.note;
  Names names(page, room);
  for (int i = 0; i < kCurvePoints; ++i) {
    const auto x = [&](int at) { return plane.x0 + (plane.x1 - plane.x0) * at / kCurvePoints; };
    names.keep_clear(plane.at(x(i), gelu(form, x(i))), plane.at(x(i + 1), gelu(form, x(i + 1))));
  }
  names.add(plane.at(0, 0), page.type.mono_note, "0", -1);
  names.add(plane.at(plane.x0, gelu(form, plane.x0)), in(page.type.strong, page.theme.text), "GeLU", 1);
  if (number.is_terms()) {
    const double middle = plane.x0 * 0.55 + plane.x1 * 0.45;
    names.keep_clear(plane.at(plane.x0, slope * plane.x0), plane.at(plane.x1, slope * plane.x1));
    names.add(plane.at(middle, slope * middle), note, "a straight line", -1);
    for (size_t i = 0; i < bend.x.size(); ++i) {
      const ImVec2 at = plane.at(bend.x[i], bend.y[i]);
      names.keep_clear_of_point(at, page.px(9));
      draw_point(page, at, page.theme.ranks[bend.ranks[i] % 8], fmt::format("{}", bend.ranks[i]));
    }
    const ImVec2 right = plane.at(bend.sum, bend.of_sum), wrong = plane.at(bend.sum, bend.sum_of);
    draw_line(page.list, right, wrong, page.theme.communication, page.thin(3));
    page.list->AddCircle(wrong, page.px(6), page.theme.text, 0, page.thin(2));
    draw_point(page, right, page.theme.agreement, {});
    names.keep_clear_of_point(right, page.px(6));
    names.keep_clear_of_point(wrong, page.px(6));
    names.keep_clear(right, wrong);
    const int above = right.y < wrong.y ? 1 : -1;
    names.add(right, in(page.type.strong, page.theme.agreement), "GeLU of the sum", above);
    names.add(wrong, in(page.type.strong, page.theme.text), "sum of the GeLUs", -above);
  } else {
    draw_point(page, plane.at(bend.sum, bend.of_sum), page.theme.agreement, {});
  }

  // The whole curve, and the part of it that is shown.
  const float side = std::min({page.px(84), room.width() / 4, room.height() / 3});
  const Rect small{{room.max.x - side * 1.2f, room.max.y - side}, room.max};
  fill_rect(page.list, small.min, small.max, page.theme.card, page.px(4));
  const Plane all{{{small.min.x + page.px(6), small.min.y + page.px(18)},
                   {small.max.x - page.px(6), small.max.y - page.px(6)}},
                  -4,
                  4,
                  -0.4,
                  4};
  names.keep_clear_of(small);
  names.draw();
  draw_text(page.list, {small.min.x + page.px(6), small.min.y + page.px(3)}, note, "all of it");
  draw_curve_line(page, all, form, page.theme.text, page.thin(1.5f));
  const ImVec2 box_min = all.at(std::clamp(plane.x0, -4.0, 4.0), std::clamp(plane.y1, -0.4, 4.0));
  const ImVec2 box_max = all.at(std::clamp(plane.x1, -4.0, 4.0), std::clamp(plane.y0, -0.4, 4.0));
  const ImVec2 middle{(box_min.x + box_max.x) / 2, (box_min.y + box_max.y) / 2};
  const ImVec2 half{std::max((box_max.x - box_min.x) / 2, page.px(4)),
                    std::max((box_max.y - box_min.y) / 2, page.px(4))};
  outline_rect(page.list, {middle.x - half.x, middle.y - half.y}, {middle.x + half.x, middle.y + half.y},
               page.theme.forward, 0, page.thin(1.5f));
}

}  // namespace shardlens::ui
