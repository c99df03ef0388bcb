// Draws the panel below the number. Forward: GeLU of the sum beside the sum of the GeLUs, with the number's
// own terms, and the curve zoomed to them beside a straight line. Backward: what each rank would go on with
// if the terms were not added.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/product/bend.h"
#include "ui/product/page.h"
#include "ui/widgets/format.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr float kFiguresAbreast = 360;  ///< in a narrower panel the second figure stands below the first

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
          "of them. Without the sum, each rank would go on with a different number:",
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
    const std::string follows = gelu_follows ? fmt::format("{} can follow", program.step(bend).equation)
                                             : std::string("a GeLU could act on it");
    const std::string said = fmt::format("{}, so {} at once.", has, follows);
    if (number.parts.size() == 1) return said;
    return fmt::format(
        "{} If the sum were cut, each rank would have one of these {} terms, and GeLU would have to wait for "
        "all of them.{}",
        said, number.parts.size(), number.bias ? " The bias is left out." : "");
  }
  const std::string terms = fmt::format("With these {} terms:", ranks);
  if (gelu_follows) {
    const std::string bias =
        number.bias || number.conversion >= 0 ? " The bias is left out on both sides." : "";
    return fmt::format("{} follows. It must wait for the sum.{} {}", program.step(bend).equation, bias,
                       terms);
  }
  const std::string where =
      "Where GeLU follows a Partial, as in the split reversed, it must wait for the sum. ";
  if (bend < 0) return fmt::format("No GeLU follows {} here. {}{}", symbol, where, terms);
  return fmt::format("No GeLU follows {}: the next step that is not linear is {}. {}{}", symbol,
                     program.step(bend).equation, where, terms);
}

/// A number, and the words above it.
float draw_figure(const OpenedPage& page, ImVec2 at, const std::string& words, const std::string& above,
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

void draw_order(const OpenedPage& page, const Number& number, const Bend& bend, const Rect& room) {
  std::vector<double> all = bend.y;
  all.insert(all.end(), {bend.of_sum, bend.sum_of});
  const AlikeNumbers alike(all), inside({bend.sum});
  float y = room.min.y;
  const float first =
      draw_figure(page, {room.min.x, y}, "GeLU of the sum", fmt::format("GeLU({})", inside.text(bend.sum)),
                  alike.text(bend.of_sum), page.theme.agreement, 32);
  if (!number.is_terms()) return;
  const bool stacked = room.width() < page.px(kFiguresAbreast);
  if (stacked) y += page.type.strong.size + page.type.mono_note.size + page.tall(32 + 10 + 14);
  const float x =
      stacked ? room.min.x
              : room.min.x + std::max(first, text_width(page.type.strong, "GeLU of the sum")) + page.px(40);
  draw_text(page.list, {x, y}, page.type.strong, "sum of the GeLUs");
  y += page.type.strong.size + page.tall(4);
  const TextStyle big = page.big(32, page.theme.text);
  const TextStyle operand = page.type.mono_note;
  TextStyle term = page.big(19, page.theme.text);
  const auto width_of = [&](const TextStyle& style) {
    float width = text_width(big, alike.text(bend.sum_of)) + page.px(28);
    for (const double value : bend.y)
      width += text_width(style, alike.text(value)) + text_width(style, "+") + page.px(18);
    return width;
  };
  const float space = room.max.x - x;
  while (term.size > page.px(12) && width_of(term) > space) term.size -= 1;
  const bool fits = width_of(term) <= space;
  const AlikeNumbers terms(bend.x);
  float at = x;
  const float base = y + operand.size + page.tall(6) + big.size * 0.5f, gap = page.px(9);
  for (size_t i = 0; fits && i < bend.y.size(); ++i) {
    const std::string text = alike.text(bend.y[i]), sign = i + 1 < bend.y.size() ? "+" : "=";
    const float width = text_width(term, text);
    const std::string above = fmt::format("GeLU({})", terms.text(bend.x[i]));
    if (text_width(operand, above) <= width + page.px(14))
      draw_text(page.list, {at + width / 2, y}, operand, above, Align::Centre);
    draw_text(page.list, {at, base - term.size * 0.5f}, in(term, page.rank_ink(bend.ranks[i])), text);
    at += width + gap;
    draw_text(page.list, {at, base - term.size * 0.5f}, in(term, page.theme.dim), sign);
    at += text_width(term, sign) + gap;
  }
  draw_text(page.list, {at, base - big.size * 0.5f}, big, alike.text(bend.sum_of));
  y = base + big.size * 0.5f + page.tall(14);
  if (y + big.size > room.max.y) return;
  fill_rect(page.list, {room.min.x, y}, {room.max.x, y + 1}, page.theme.line);
  y += page.tall(14);
  const std::string difference = alike.text(std::abs(bend.sum_of - bend.of_sum));
  draw_text(page.list, {room.min.x, y + (big.size - page.type.strong.size) / 2}, page.type.strong,
            "difference");
  const float label = stacked ? text_width(page.type.strong, "difference") + page.px(20) : 0;
  draw_text(page.list, {x + label, y}, in(big, page.theme.communication), difference);
  if (stacked) y += big.size + page.tall(8);
  const float words = stacked ? x : x + text_width(big, difference) + page.px(20);
  const std::string said = compared(bend.sum_of, bend.of_sum, alike);
  const std::string why = "For a straight line through 0 both orders give the same. GeLU is a curve.";
  y += draw_wrapped(page.list, {words, y}, page.type.body, said, room.max.x - words) + page.px(3);
  draw_wrapped(page.list, {words, y}, in(page.type.body, page.theme.dim), why, room.max.x - words);
}

/// A bar for each rank's term and one for their sum, on one scale.
void draw_gradient_bars(const OpenedPage& page, const Number& number, const Rect& room) {
  std::vector<double> all = number.terms();
  all.push_back(number.sum);
  double largest = 0;
  for (const double value : all) largest = std::max(largest, std::abs(value));
  if (!(largest > 0)) return;
  const AlikeNumbers alike(all);
  const float row = std::min(page.tall(30), room.height() / static_cast<float>(all.size()));
  const TextStyle value = page.type.mono;
  const bool narrow = page.stacks(room);
  const float names = page.px(narrow ? 92 : 150), share = page.px(narrow ? 50 : 130);
  const float figures = text_width(value, alike.text(-largest)) + page.px(20) + share;
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
    draw_text(page.list, {room.max.x - share, middle - value.size * 0.56f}, value, alike.text(amount),
              Align::Right);
    if (!is_sum && number.sum != 0)
      draw_text(page.list, {room.max.x, middle - page.type.note.size * 0.56f}, page.type.note,
                fmt::format("{:.2g} {}", amount / number.sum, narrow ? "×" : "times the sum"), Align::Right);
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

void draw_bend(const OpenedPage& page, const Number& number, const Number& terms, const Rect& room) {
  fill_rect(page.list, room.min, room.max, page.theme.panel, page.px(6));
  const float pad = page.px(20);
  const Rect inner{{room.min.x + pad, room.min.y + page.tall(14)},
                   {room.max.x - pad, room.max.y - page.tall(14)}};
  const bool curve = is_forward(number), stacked = page.stacks(inner);
  const float words = curve && !stacked ? inner.width() * 0.62f : inner.width();
  const TextStyle title{page.context.fonts.bold, page.px(kBodySize * 1.25f), page.theme.text};
  float y = inner.min.y + page.tall(6);
  if (stacked) {
    y += draw_wrapped(page.list, inner.min, title, bend_title(number), words);
  } else {
    draw_text(page.list, inner.min, title, fitted(title, bend_title(number), words));
    y += title.size;
  }
  y += draw_wrapped(page.list, {inner.min.x, y}, in(page.type.body, page.theme.dim), bend_words(number),
                    words) +
       page.tall(16);
  if (!curve) {
    if (number.is_terms()) draw_gradient_bars(page, number, {{inner.min.x, y}, inner.max});
    return;
  }
  const Bend bend = bend_of(terms);
  if (stacked) {
    const float top = inner.max.y - within((inner.max.y - y) * 0.42f, page.px(120), page.px(260));
    draw_order(page, terms, bend, {{inner.min.x, y}, {inner.max.x, top - page.px(8)}});
    return draw_curve(page, terms, bend, {{inner.min.x, top}, inner.max});
  }
  draw_order(page, terms, bend, {{inner.min.x, y}, {inner.min.x + words, inner.max.y}});
  draw_curve(page, terms, bend, {{inner.min.x + words + page.px(24), inner.min.y}, inner.max});
}

}  // namespace shardlens::ui
