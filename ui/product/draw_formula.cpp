// Draws a number's formula, and small matrices that show which row and which column it takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/product/page.h"

namespace shardlens::ui {
namespace {

/// A small matrix with one line of it in the colours of the ranks that multiply there.
struct Small {
  const Tensor* tensor = nullptr;
  bool column = false;  ///< the line is a column, else a row
  int64_t at = 0;       ///< its place
};

ImVec2 size_of(const OpenedPage& page, const Tensor& tensor, float height) {
  const MatrixShape full = matrix_shape(tensor);
  const double ratio =
      std::sqrt(static_cast<double>(full.cols) / static_cast<double>(std::max<int64_t>(full.rows, 1)));
  const float width = std::clamp(height * static_cast<float>(ratio), height * 0.5f, height * 2.2f);
  return {std::round(width), std::round(page.px(0) + height)};
}

void draw_small(const OpenedPage& page, const Number& number, const Small& small, ImVec2 at, ImVec2 size) {
  const MatrixShape full = matrix_shape(*small.tensor);
  const ImVec2 end{at.x + size.x, at.y + size.y};
  fill_rect(page.list, at, end, page.theme.ghost);
  outline_rect(page.list, at, end, page.theme.line);
  const int64_t across = small.column ? full.cols : full.rows, along = small.column ? full.rows : full.cols;
  const float thickness = page.px(5), room = (small.column ? size.x : size.y) - thickness;
  const float line = room * static_cast<float>(small.at) / static_cast<float>(std::max<int64_t>(across, 1));
  const Rect strip = small.column ? Rect{{at.x + line, at.y}, {at.x + line + thickness, end.y}}
                                  : Rect{{at.x, at.y + line}, {end.x, at.y + line + thickness}};
  for (size_t rank = 0; rank < number.parts.size(); ++rank)
    for (const Range& range : number.parts[rank].pairs) {
      const Rect place = small.column ? stage::place_in(strip, {along, 1}, range, {0, 1})
                                      : stage::place_in(strip, {1, along}, {0, 1}, range);
      fill_rect(page.list, place.min, place.max,
                number.cut == SumCut::None ? page.theme.dim : page.theme.ranks[rank % 8]);
    }
}

/// The result with its one element.
void draw_result(const OpenedPage& page, const Number& number, const Tensor& out, ImVec2 at, ImVec2 size) {
  const MatrixShape full = matrix_shape(out);
  const ImVec2 end{at.x + size.x, at.y + size.y};
  fill_rect(page.list, at, end, page.theme.ghost);
  outline_rect(page.list, at, end, page.theme.line);
  const float x = at.x + (static_cast<float>(number.col) + 0.5f) / static_cast<float>(full.cols) * size.x;
  const float y = at.y + (static_cast<float>(number.row) + 0.5f) / static_cast<float>(full.rows) * size.y;
  draw_line(page.list, {at.x, y}, {end.x, y}, page.theme.faint, 1);
  draw_line(page.list, {x, at.y}, {x, end.y}, page.theme.faint, 1);
  const float half = page.px(3);
  fill_rect(page.list, {x - half, y - half}, {x + half, y + half}, page.theme.text);
}

/// Draws the matrices with their right edge at `right`; returns their left edge, or `right` if there is no
/// room.
float draw_places(const OpenedPage& page, const Number& number, const Rect& room, float left) {
  const Program& program = number.program();
  const Product& product = number.product;
  const Tensor& out = program.tensor(product.out);
  const Small factors[] = {{&program.tensor(product.a), product.a_turned, number.row},
                           {&program.tensor(product.b), !product.b_turned, number.col}};
  const float height = room.height() - page.px(10), gap = page.px(8), sign = page.px(26);
  const TextStyle name = page.type.mono, shape = page.type.mono_note;
  const auto words_width = [&](const Tensor& tensor) {
    return std::max(text_width(name, tensor.symbol), text_width(shape, to_string(tensor.shape)));
  };
  float width = size_of(page, out, height).x + words_width(out) + gap;
  for (const Small& factor : factors)
    width += sign + size_of(page, *factor.tensor, height).x + words_width(*factor.tensor) + gap;
  float x = room.max.x - width;
  if (x < left + page.px(24)) return room.max.x;
  const float begin = x, y = room.min.y + page.px(5);
  const auto words = [&](const Tensor& tensor) {
    x += gap;
    draw_text(page.list, {x, y + page.px(2)}, name, tensor.symbol);
    draw_text(page.list, {x, y + name.size + page.px(4)}, shape, to_string(tensor.shape));
    x += words_width(tensor);
  };
  const ImVec2 size = size_of(page, out, height);
  draw_result(page, number, out, {x, y}, size);
  x += size.x;
  words(out);
  for (const Small& factor : factors) {
    draw_text(page.list, {x + sign / 2, y + height / 2 - name.size * 0.56f}, in(name, page.theme.dim),
              &factor == factors ? "=" : "\u00B7", Align::Centre);
    x += sign;
    const ImVec2 own = size_of(page, *factor.tensor, height);
    draw_small(page, number, factor, {x, y}, own);
    x += own.x;
    words(*factor.tensor);
  }
  return begin;
}

}  // namespace

void draw_formula(const OpenedPage& page, const Number& number, const Rect& room) {
  const Program& program = number.program();
  const Product& product = number.product;
  const auto pair = [&](TensorId id, bool k_first, int64_t at) {
    const std::string& symbol = program.tensor(id).symbol;
    return k_first ? fmt::format("{}[k, {}]", symbol, at) : fmt::format("{}[{}, k]", symbol, at);
  };
  const std::string left = element_text(program.tensor(product.out).symbol, number.row, number.col);
  const std::string right = fmt::format("{} \u00B7 {}{}", pair(product.a, product.a_turned, number.row),
                                        pair(product.b, !product.b_turned, number.col),
                                        product.bias != kNoTensor ? fmt::format(" + b[{}]", number.col) : "");
  TextStyle style{page.context.fonts.mono, page.px(24), page.theme.text};
  const TextStyle small{page.context.fonts.mono, page.px(kSmallSize), page.theme.dim};
  const std::string range = fmt::format("k = 0 \u2026 {}", product_terms(program, product) - 1);
  const auto total = [&] {
    return text_width(style, left) + text_width(style, right) + 2 * style.size + text_width(small, range) +
           page.px(48);
  };
  while (style.size > page.px(14) && total() > room.width()) style.size -= 1;
  // Where even small letters do not fit, the sum stands below what it gives.
  const bool two_lines = total() > room.width();
  const auto second_line = [&] {
    return text_width(style, right) + 1.5f * style.size + text_width(small, range) + page.px(20);
  };
  while (style.size > page.px(10) && second_line() > room.width()) style.size -= 1;
  float middle = two_lines ? room.min.y + room.height() * 0.16f : (room.min.y + room.max.y) / 2;
  float x = room.min.x;
  const auto put = [&](const TextStyle& as, const std::string& text, float after) {
    draw_text(page.list, {x, middle - as.size * 0.56f}, as, text);
    x += text_width(as, text) + after;
  };
  put(style, left, page.px(12));
  put(in(style, page.theme.dim), "=", page.px(12));
  if (two_lines) {
    x = room.min.x;
    middle += room.height() * 0.42f;
  }
  const TextStyle sigma{page.context.fonts.body, style.size * 1.5f, page.theme.text};
  put(sigma, "\u03A3", page.px(4));
  draw_text(page.list, {x, middle + style.size * 0.24f}, small, range);
  x += text_width(small, range) + page.px(10);
  put(style, right, 0);
  if (!two_lines) draw_places(page, number, room, x);
}

}  // namespace shardlens::ui
