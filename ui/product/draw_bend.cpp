// Draws the panel below the number. Forward: GeLU of the sum beside the sum of the GeLUs, with the number's
// own terms, and the curve zoomed to them beside a straight line. Backward: what each rank would go on with
// if the terms were not added.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/program/gelu.h"
#include "ui/product/page.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr int kCurvePoints = 96;

bool is_forward(const Number& number) {
  return number.program().step(number.product.step).phase == Phase::Forward;
}

const std::string& symbol_of(const Number& number) {
  return number.program().tensor(number.product.out).symbol;
}

/// "row 3: GeLU(x)": the sentence under the title.
std::string bend_words(const Number& number) {
  const Program& program = number.program();
  const std::string& symbol = symbol_of(number);
  const int ranks = number.makers();
  if (!is_forward(number)) {
    if (number.is_terms())
      return fmt::format(
          "Each rank has the gradient of its own part of the layer. What came before the layer needs all {} "
          "of "
          "them. Without the sum, each rank would go on with a different number:",
          ranks);
    return fmt::format("No part of {} is missing on the ranks that hold it, so nothing is added.", symbol);
  }
  const StepId bend = next_bend(program, number.product.out);
  const bool gelu_follows = bend >= 0 && program.step(bend).op == Op::Gelu;
  if (!number.is_terms()) {
    const std::string has =
        number.parts.size() == 1
            ? fmt::format("The rank has the whole sum of {}", symbol)
            : fmt::format("{} the whole sum of {}",
                          number.cut == SumCut::None ? "Every rank has" : "One rank has", symbol);
    return fmt::format(
        "{}, so {} at once.", has,
        gelu_follows ? fmt::format("{} can follow", program.step(bend).equation) : "a GeLU could act on it");
  }
  const std::string terms = fmt::format("With these {} terms:", ranks);
  if (gelu_follows) {
    const std::string bias =
        number.bias || number.conversion >= 0 ? " The bias is left out on both sides." : "";
    return fmt::format("{} follows. It must wait for the sum. {}{}", program.step(bend).equation, terms,
                       bias);
  }
  const std::string where =
      "Where GeLU follows a Partial, as in the split reversed, it must wait for the sum. ";
  if (bend < 0) return fmt::format("No GeLU follows {} here. {}{}", symbol, where, terms);
  return fmt::format("No GeLU follows {}: the next step that is not linear is {}. {}{}", symbol,
                     program.step(bend).equation, where, terms);
}

/// A number, and the words above it.
float draw_figure(const Page& page, ImVec2 at, const std::string& words, const std::string& above,
                  const std::string& figure, ImU32 colour, float size) {
  draw_text(page.list, at, page.type.strong, words);
  const float y = at.y + page.type.strong.size + page.tall(4);
  draw_text(page.list, {at.x, y}, page.type.mono_note, above);
  const TextStyle big = page.big(size, colour);
  draw_text(page.list, {at.x, y + page.type.mono_note.size + page.tall(6)}, big, figure);
  return text_width(big, figure);
}

/// How the wrong number compares with the right one.
std::string compared(double wrong, double right, const AlikeNumbers& alike) {
  const double ratio = wrong / right;
  if (std::isfinite(ratio) && ratio > 0 && (ratio < 0.95 || ratio > 1.05))
    return fmt::format("{} is {:.2g} times the right number.", alike.text(wrong), ratio);
  return fmt::format("{} instead of {}.", alike.text(wrong), alike.text(right));
}

struct Bend {
  std::vector<double> x, y;  ///< the terms, and GeLU of each
  std::vector<int> ranks;
  double sum = 0, of_sum = 0, sum_of = 0;
};

Bend bend_of(const Number& number) {
  const GeluForm form = number.program().settings.model.gelu;
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

void draw_order(const Page& page, const Number& number, const Bend& bend, const Rect& room) {
  std::vector<double> all = bend.y;
  all.insert(all.end(), {bend.of_sum, bend.sum_of});
  const AlikeNumbers alike(all), inside({bend.sum});
  float y = room.min.y;
  const float first =
      draw_figure(page, {room.min.x, y}, "GeLU of the sum", fmt::format("GeLU({})", inside.text(bend.sum)),
                  alike.text(bend.of_sum), page.theme.agreement, 32);
  if (!number.is_terms()) return;
  const float x = room.min.x + std::max(first, text_width(page.type.strong, "GeLU of the sum")) + page.px(40);
  draw_text(page.list, {x, y}, page.type.strong, "sum of the GeLUs");
  y += page.type.strong.size + page.tall(4);
  const TextStyle big = page.big(32, page.theme.text);
  const TextStyle operand = page.type.mono_note;
  TextStyle term = page.big(19, page.theme.text);
  const auto width_of = [&](const TextStyle& style) {
    float width = text_width(big, alike.text(bend.sum_of)) + page.px(28);
    for (const double value : bend.y) width += text_width(style, alike.text(value)) + page.px(28);
    return width;
  };
  const float space = room.max.x - x;
  while (term.size > page.px(12) && width_of(term) > space) term.size -= 1;
  const bool fits = width_of(term) <= space;
  const AlikeNumbers terms(bend.x);
  float at = x;
  const float base = y + operand.size + page.tall(6) + big.size * 0.5f;
  for (size_t i = 0; fits && i < bend.y.size(); ++i) {
    const std::string text = alike.text(bend.y[i]);
    const float width = text_width(term, text);
    const std::string above = fmt::format("GeLU({})", terms.text(bend.x[i]));
    if (text_width(operand, above) <= width + page.px(24))
      draw_text(page.list, {at + width / 2, y}, operand, above, Align::Centre);
    draw_text(page.list, {at, base - term.size * 0.5f}, in(term, page.rank_ink(bend.ranks[i])), text);
    at += width + page.px(9);
    draw_text(page.list, {at, base - term.size * 0.5f}, in(term, page.theme.dim),
              i + 1 < bend.y.size() ? "+" : "=");
    at += page.px(19);
  }
  draw_text(page.list, {at, base - big.size * 0.5f}, big, alike.text(bend.sum_of));
  y = base + big.size * 0.5f + page.tall(14);
  if (y + big.size > room.max.y) return;
  fill_rect(page.list, {room.min.x, y}, {room.max.x, y + 1}, page.theme.line);
  y += page.tall(14);
  const std::string difference = alike.text(std::abs(bend.sum_of - bend.of_sum));
  draw_text(page.list, {room.min.x, y + (big.size - page.type.strong.size) / 2}, page.type.strong,
            "difference");
  draw_text(page.list, {x, y}, in(big, page.theme.communication), difference);
  const float words = x + text_width(big, difference) + page.px(20);
  const std::string said = compared(bend.sum_of, bend.of_sum, alike);
  const std::string why = "A straight line through 0 would not mind the order. GeLU is bent.";
  draw_wrapped(page.list, {words, y}, page.type.body, said, room.max.x - words);
  draw_wrapped(page.list, {words, y + page.type.body.size + page.px(3)}, in(page.type.body, page.theme.dim),
               why, room.max.x - words);
}

/// The part of the plane that a curve shows.
struct Plane {
  Rect room;
  double x0 = -1, x1 = 1, y0 = -1, y1 = 1;
  ImVec2 at(double x, double y) const {
    return {room.min.x + static_cast<float>((x - x0) / (x1 - x0)) * room.width(),
            room.max.y - static_cast<float>((y - y0) / (y1 - y0)) * room.height()};
  }
};

void draw_curve_line(const Page& page, const Plane& plane, GeluForm form, ImU32 colour, float thickness) {
  ImVec2 before;
  for (int i = 0; i <= kCurvePoints; ++i) {
    const double x = plane.x0 + (plane.x1 - plane.x0) * i / kCurvePoints;
    const ImVec2 here = plane.at(x, gelu(form, x));
    if (i > 0) draw_line(page.list, before, here, colour, thickness);
    before = here;
  }
}

void draw_point(const Page& page, ImVec2 at, ImU32 colour, const std::string& number) {
  const float radius = page.px(number.empty() ? 6 : 9);
  fill_rect(page.list, {at.x - radius, at.y - radius}, {at.x + radius, at.y + radius}, colour, radius);
  const TextStyle style{page.context.fonts.bold, page.px(12), legible_on(page.theme, colour)};
  draw_text(page.list, {at.x, at.y - style.size * 0.56f}, style, number, Align::Centre);
}

void draw_curve(const Page& page, const Number& number, const Bend& bend, const Rect& room) {
  const GeluForm form = number.program().settings.model.gelu;
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
  const ImVec2 zero = plane.at(0, 0);
  draw_text(page.list, {zero.x + page.px(4), zero.y + page.px(2)}, page.type.mono_note, "0");
  const ImVec2 end = plane.at(plane.x1, gelu(form, plane.x1));
  draw_text(page.list, {end.x - page.px(12), end.y + page.px(4)}, in(page.type.strong, page.theme.text),
            "GeLU", Align::Right);
  if (number.is_terms()) {
    const ImVec2 line =
        plane.at(plane.x0 * 0.55 + plane.x1 * 0.45, slope * (plane.x0 * 0.55 + plane.x1 * 0.45));
    draw_text(page.list, {line.x + page.px(10), line.y + page.px(10)}, note, "a straight line");
    for (size_t i = 0; i < bend.x.size(); ++i)
      draw_point(page, plane.at(bend.x[i], bend.y[i]), page.theme.ranks[bend.ranks[i] % 8],
                 fmt::format("{}", bend.ranks[i]));
    const ImVec2 right = plane.at(bend.sum, bend.of_sum), wrong = plane.at(bend.sum, bend.sum_of);
    draw_line(page.list, right, wrong, page.theme.communication, page.thin(3));
    page.list->AddCircle(wrong, page.px(6), page.theme.text, 0, page.thin(2));
    draw_point(page, right, page.theme.agreement, {});
    const bool left_half = right.x > (room.min.x + room.max.x) / 2;
    const Align align = left_half ? Align::Right : Align::Left;
    const float x = wrong.x + (left_half ? -1 : 1) * page.px(14);
    draw_text(page.list, {x, wrong.y - page.px(9)}, page.type.strong, "sum of the GeLUs", align);
    const float away = std::abs(right.y - wrong.y) < page.px(20)
                           ? (right.y >= wrong.y ? page.px(12) : -page.px(28))
                           : -page.px(9);
    draw_text(page.list, {x, right.y + away}, in(page.type.strong, page.theme.agreement), "GeLU of the sum",
              align);
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

/// A bar for each rank's term and one for their sum, on one scale.
void draw_gradient_bars(const Page& page, const Number& number, const Rect& room) {
  std::vector<double> all = number.terms();
  all.push_back(number.sum);
  double largest = 0;
  for (const double value : all) largest = std::max(largest, std::abs(value));
  if (!(largest > 0)) return;
  const AlikeNumbers alike(all);
  const float row = std::min(page.tall(30), room.height() / static_cast<float>(all.size()));
  const TextStyle value = page.type.mono;
  const float names = page.px(150), figures = text_width(value, alike.text(-largest)) + page.px(20);
  const Rect bars{{room.min.x + names, room.min.y}, {room.max.x - figures, room.max.y}};
  const float zero = (bars.min.x + bars.max.x) / 2;
  float y = room.min.y;
  const auto draw = [&](const std::string& name, double amount, ImU32 colour, bool is_sum) {
    const float end = zero + static_cast<float>(amount / largest) * bars.width() / 2;
    const float middle = y + row / 2;
    draw_text(page.list, {room.min.x, middle - page.type.strong.size * 0.56f},
              in(page.type.strong, is_sum ? page.theme.text : colour), name);
    fill_rect(page.list, {std::min(zero, end), y + row * 0.22f}, {std::max(zero, end), y + row * 0.78f},
              colour);
    draw_text(page.list, {room.max.x, middle - value.size * 0.56f}, value, alike.text(amount), Align::Right);
    y += row;
  };
  for (size_t rank = 0; rank < number.parts.size(); ++rank)
    if (number.parts[rank].makes())
      draw(fmt::format("rank {} alone", rank), number.parts[rank].term, page.rank_ink(static_cast<int>(rank)),
           false);
  draw("the sum", number.sum, page.theme.agreement, true);
  draw_line(page.list, {zero, room.min.y}, {zero, y}, page.theme.dim, 1);
}

}  // namespace

std::string bend_title(const Number& number) {
  if (is_forward(number))
    return number.is_terms() ? "Why GeLU may not come before the sum" : "Why GeLU need not wait here";
  return number.is_terms() ? "Why this gradient must be summed" : "Why this gradient needs no sum";
}

void draw_bend(const Page& page, const Number& number, const Rect& room) {
  fill_rect(page.list, room.min, room.max, page.theme.panel, page.px(6));
  const float pad = page.px(20);
  Rect inner{{room.min.x + pad, room.min.y + page.tall(14)}, {room.max.x - pad, room.max.y - page.tall(14)}};
  const bool curve = is_forward(number);
  const float words = curve ? inner.width() * 0.62f : inner.width();
  const TextStyle title{page.context.fonts.bold, page.px(kBodySize * 1.25f), page.theme.text};
  draw_text(page.list, inner.min, title, fitted(title, bend_title(number), words));
  float y = inner.min.y + title.size + page.tall(6);
  y += draw_wrapped(page.list, {inner.min.x, y}, page.type.note, bend_words(number), words) + page.tall(16);
  if (!curve) {
    if (number.is_terms())
      draw_gradient_bars(page, number, {{inner.min.x, y}, {inner.min.x + words * 0.7f, inner.max.y}});
    return;
  }
  const Bend bend = bend_of(number);
  draw_order(page, number, bend, {{inner.min.x, y}, {inner.min.x + words, inner.max.y}});
  draw_curve(page, number, bend, {{inner.min.x + words + page.px(24), inner.min.y}, inner.max});
}

}  // namespace shardlens::ui
