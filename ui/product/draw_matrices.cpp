// Draws a product as matrices: A, B and the result side by side, as the equation has them, with every rank's
// part at its place. A point of the result lights up its row of A and its column of B; a click opens that
// number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/plan/shown_plan.h"
#include "ui/product/drawn_matrix.h"
#include "ui/product/page.h"
#include "ui/product/product_view.h"
#include "ui/theme/colour_scale.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

constexpr float kCaption = 76;  ///< below a matrix: its symbol, its shape, its layout
constexpr float kParts = 24;    ///< above a matrix: the letters of its parts
constexpr double kPower = 0.5;  ///< sides grow less than in proportion to the shape

/// The pointed element of the result.
struct Pointed {
  int64_t row = -1, col = -1;
  explicit operator bool() const { return row >= 0; }
};

Pointed pointed_in(const Rect& whole, MatrixShape full, ImVec2 mouse) {
  const auto along = [](float at, float begin, float length, int64_t extent) {
    return std::clamp<int64_t>(static_cast<int64_t>((at - begin) / length * static_cast<float>(extent)), 0,
                               extent - 1);
  };
  return {along(mouse.y, whole.min.y, whole.height(), full.rows),
          along(mouse.x, whole.min.x, whole.width(), full.cols)};
}

/// The result's tiles: one for all ranks, or for a Partial result one for each rank's term and one for the
/// sum.
struct Tile {
  Rect rect;
  int rank = -1;  ///< -1: all ranks
  bool sum = false;
};

std::vector<Tile> tiles_of(const OpenedPage& page, const Rect& room, MatrixShape shape, int terms,
                           bool has_sum) {
  if (terms <= 1) return {{room}};
  const int count = terms + (has_sum ? 1 : 0);
  // The number of columns with which the tiles become largest.
  const float label = page.px(24), gap = page.px(16);
  const auto aspect =
      static_cast<float>(std::pow(static_cast<double>(shape.cols) / static_cast<double>(shape.rows), kPower));
  int columns = 1;
  float width = 0;
  for (int tried = 1; tried <= count; ++tried) {
    const int rows = (count + tried - 1) / tried;
    const float across = (room.width() - gap * static_cast<float>(tried - 1)) / static_cast<float>(tried);
    const float down = room.height() / static_cast<float>(rows) - label - gap;
    const float fits = std::floor(std::min(across, std::max(down, 1.0f) * aspect));
    if (fits <= width) continue;
    width = fits;
    columns = tried;
  }
  const float height = std::floor(width / aspect);
  const int rows = (count + columns - 1) / columns;
  const float all = static_cast<float>(rows) * (height + label + gap) - gap;
  const float top = std::round(room.min.y + (room.height() - all) / 2);
  std::vector<Tile> tiles;
  for (int i = 0; i < count; ++i) {
    const ImVec2 at{std::round(room.min.x + static_cast<float>(i % columns) * (width + gap)),
                    std::round(top + static_cast<float>(i / columns) * (height + label + gap) + label)};
    tiles.push_back({{at, {at.x + width, at.y + height}}, i, i == terms});
  }
  return tiles;
}

/// What the ranks do, in a sentence.
std::string what_happens(const Program& program, const Product& product) {
  const std::string& a = program.tensor(product.a).symbol;
  const std::string& b = program.tensor(product.b).symbol;
  const std::string& c = program.tensor(product.out).symbol;
  switch (sum_cut(program, product)) {
    case SumCut::Terms:
      return fmt::format(
          "Each rank multiplies its part of {} with its part of {}. That gives a whole-sized {} on "
          "every rank, but only a term of each number: the terms must be added.",
          a, b, c);
    case SumCut::Whole:
      return fmt::format(
          "Each rank makes a part of {} from whole rows and columns, so each of its numbers is "
          "finished: nothing is added.",
          c);
    case SumCut::None:
      break;
  }
  return program.tp() == 1
             ? fmt::format("One rank makes all of {}.", c)
             : fmt::format("Every rank makes all of {}: the same numbers {} times.", c, program.tp());
}

/// Where everything is.
struct Arrangement {
  Rect factors[2], result;
  ImVec2 signs[2];    ///< the middles of the two signs
  float caption = 0;  ///< the width of a factor's caption
};

/// The largest matrices that fit. Their sides are multiples of the ranks, so that all pieces of a row have
/// one size. A Partial result has a picture for each rank, so it gets all the width that is left.
Arrangement arranged(const OpenedPage& page, MatrixShape a, MatrixShape c, int ranks, bool partial,
                     const Rect& room) {
  const auto side = [](int64_t extent) {
    return static_cast<float>(std::pow(static_cast<double>(extent), kPower));
  };
  const float between = page.px(64);
  const float across = side(a.cols) + (partial ? 2.6f : 2.0f) * side(c.cols);
  const float down = std::max(side(a.rows), side(a.cols));
  const float scale = std::min((room.width() - 2 * between) / across, room.height() / down);
  const auto length = [&](int64_t extent) {
    const auto step = static_cast<float>(ranks);
    return std::max(step, std::floor(side(extent) * scale / step) * step);
  };
  const float widths[] = {length(a.cols), length(c.cols)}, heights[] = {length(a.rows), length(a.cols)};
  const float rest = room.width() - 2 * between - widths[0] - widths[1];
  const float result_width = partial ? rest : length(c.cols);
  const float result_height = partial ? room.height() : length(a.rows);
  Arrangement at;
  at.caption = page.px(150);
  const float middle = std::round((room.min.y + room.max.y) / 2);
  float x = std::round(room.min.x + (rest - result_width) / 2);
  for (int i = 0; i < 2; ++i) {
    const float top = std::round(middle - heights[i] / 2);
    at.factors[i] = {{x, top}, {x + widths[i], top + heights[i]}};
    at.signs[i] = {x + widths[i] + between / 2, middle};
    x += widths[i] + between;
  }
  const float top = std::round(middle - result_height / 2);
  at.result = {{x, top}, {x + result_width, top + result_height}};
  return at;
}

/// The same for a narrow room: the factors side by side, and below them and their captions the result.
Arrangement arranged_below(const OpenedPage& page, MatrixShape a, MatrixShape c, int ranks, bool partial,
                           const Rect& room) {
  const auto side = [](int64_t extent) {
    return static_cast<float>(std::pow(static_cast<double>(extent), kPower));
  };
  const float between = page.px(48), sign = page.px(44), captions = page.px(kCaption + 24);
  const float half = (room.width() - between) / 2, height = room.height() - captions - sign;
  const float scale =
      std::min({half / side(std::max(a.cols, c.cols)), height * 0.4f / side(std::max(a.rows, a.cols)),
                height * 0.6f / side(a.rows), room.width() / side(c.cols)});
  const auto length = [&](int64_t extent) {
    const auto step = static_cast<float>(ranks);
    return std::max(step, std::floor(side(extent) * scale / step) * step);
  };
  const float upper = std::max(length(a.rows), length(a.cols));
  Arrangement at;
  at.caption = half;
  const ImVec2 first{std::round(room.min.x), std::round(room.min.y)},
      second{std::round(room.min.x + half + between), first.y};
  at.factors[0] = {first, {first.x + length(a.cols), first.y + length(a.rows)}};
  at.factors[1] = {second, {second.x + length(c.cols), second.y + length(a.cols)}};
  at.signs[0] = {second.x - between / 2, first.y + std::min(length(a.rows), length(a.cols)) / 2};
  const float top = std::round(first.y + upper + captions + sign);
  at.signs[1] = {room.min.x + room.width() / 2, top - sign * 0.8f};
  const float left = std::round(room.min.x + (room.width() - length(c.cols)) / 2);
  at.result = partial ? Rect{{room.min.x, top}, room.max}
                      : Rect{{left, top}, {left + length(c.cols), top + length(a.rows)}};
  return at;
}

/// Lights up the row of A, the column of B and the number in every tile of the result.
void draw_pointed(const OpenedPage& page, const Arrangement& places, const std::vector<Tile>& tiles,
                  Pointed at, MatrixShape full) {
  const ImU32 accent = page.theme.text;
  const auto share = [](int64_t place, int64_t all) {
    return static_cast<float>((static_cast<double>(place) + 0.5) / static_cast<double>(all));
  };
  const float down = share(at.row, full.rows), across = share(at.col, full.cols);
  const Rect &a = places.factors[0], &b = places.factors[1];
  const float y = a.min.y + down * a.height(), x = b.min.x + across * b.width();
  draw_line(page.list, {a.min.x, y}, {a.max.x, y}, accent, page.thin(2));
  draw_line(page.list, {x, b.min.y}, {x, b.max.y}, accent, page.thin(2));
  const float half = page.px(5);
  for (const Tile& tile : tiles) {
    const ImVec2 centre{tile.rect.min.x + across * tile.rect.width(),
                        tile.rect.min.y + down * tile.rect.height()};
    outline_rect(page.list, {centre.x - half, centre.y - half}, {centre.x + half, centre.y + half}, accent, 0,
                 page.thin(2));
  }
}

/// Draws a tile of the result and returns the element under the mouse. A click opens that number.
Pointed draw_tile(const OpenedPage& page, const Tile& tile, const DrawnMatrix& shown, int ranks,
                  const std::string& words, const std::string& symbol) {
  fill_rect(page.list, tile.rect.min, tile.rect.max, page.theme.ghost);
  const bool one_rank = tile.rank >= 0 && !tile.sum;
  const bool every = !one_rank && shown.tensor->layout.kind == LayoutKind::Sharded;
  const int first = one_rank ? tile.rank : 0, last = one_rank ? tile.rank : every ? ranks - 1 : 0;
  for (int rank = first; rank <= last; ++rank) draw_rank(page, shown, ranks, rank, tile.rect);
  if (tile.rank >= 0) {
    const TextStyle style{page.context.fonts.bold, page.px(kSmallSize),
                          one_rank ? page.rank_ink(tile.rank) : page.theme.agreement};
    const std::string brief = tile.sum ? "the sum" : fmt::format("rank {}", tile.rank);
    draw_text(
        page.list, {tile.rect.min.x, tile.rect.min.y - style.size - page.px(5)}, style,
        text_width(style, words) <= tile.rect.width() ? words : fitted(style, brief, tile.rect.width()));
  }
  ImGui::SetCursorScreenPos(tile.rect.min);
  const std::string id = tile.sum ? "sum" : fmt::format("result {}", std::max(tile.rank, 0));
  const bool clicked = ImGui::InvisibleButton(
      id.c_str(), {std::max(1.0f, tile.rect.width()), std::max(1.0f, tile.rect.height())});
  const MatrixShape full = shown.shape();
  Pointed at;
  if (ImGui::IsItemHovered()) {
    at = pointed_in(tile.rect, full, ImGui::GetMousePos());
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    show_tooltip(page.context,
                 element_text(symbol, at.row, at.col) + "\nA click shows how this number is made.");
  }
  if (clicked) open_number(page.context, at ? at.row : full.rows / 2, at ? at.col : full.cols / 2);
  return at;
}

}  // namespace

void draw_matrices(const OpenedPage& page, const Product& product, const Rect& room) {
  const Context& context = page.context;
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  const Program& program = plan->program;
  const int ranks = program.tp();
  const DrawnMatrix a = operand_of(context, program, product.a, product.a_turned);
  const DrawnMatrix b = operand_of(context, program, product.b, product.b_turned);
  const DrawnMatrix c = operand_of(context, program, product.out, false);
  const StepId conversion = conversion_after(program, product.out);
  const bool partial = ranks > 1 && c.tensor->layout.kind == LayoutKind::Partial;
  const bool has_sum = partial && conversion >= 0;

  const float words = draw_wrapped(
      page.list, room.min, in(page.type.body, page.theme.dim),
      fmt::format("{} Colours: {}.", what_happens(program, product), kSignedInWords), room.width());
  const bool has_parts = !parts_in_columns(a).empty() || !parts_in_columns(b).empty() ||
                         (!partial && !parts_in_columns(c).empty());
  const Rect inner{{room.min.x, room.min.y + words + page.px(has_parts ? kParts + 12 : 12)},
                   {room.max.x, room.max.y - page.px(kCaption + 12)}};
  const auto arrange = page.stacks(room) ? arranged_below : arranged;
  const Arrangement at = arrange(page, a.shape(), c.shape(), ranks, partial, inner);
  const TextStyle sign{context.fonts.bold, page.px(30), page.theme.text};
  const DrawnMatrix* const factors[] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    const Rect& place = at.factors[i];
    fill_rect(page.list, place.min, place.max, page.theme.ghost);
    const int last = factors[i]->tensor->layout.kind == LayoutKind::Replicated ? 0 : ranks - 1;
    for (int rank = 0; rank <= last; ++rank) draw_rank(page, *factors[i], ranks, rank, place);
    draw_parts_in_columns(page, *factors[i], place);
    draw_caption(page, *factors[i], ranks, {place.min, {std::max(place.max.x, place.min.x + at.caption), 0}},
                 place.max.y + page.px(8));
    draw_text(page.list, {at.signs[i].x, at.signs[i].y - sign.size * 0.56f}, sign, i == 0 ? "\u00D7" : "=",
              Align::Centre);
  }
  const DrawnMatrix sum =
      has_sum ? operand_of(context, program, program.step(conversion).outputs.front(), false) : c;
  const std::vector<Tile> tiles = tiles_of(page, at.result, c.shape(), partial ? ranks : 1, has_sum);
  Pointed pointed;
  float bottom = at.result.min.y;
  for (const Tile& tile : tiles) {
    const std::string title = tile.sum ? fmt::format("after the {}", to_string(program.step(conversion).op))
                                       : fmt::format("rank {}: a term, Partial", tile.rank);
    const Pointed here = draw_tile(page, tile, tile.sum ? sum : c, ranks, title, c.tensor->symbol);
    if (here) pointed = here;
    bottom = std::max(bottom, tile.rect.max.y);
  }
  // Below the sum if there is one: a caption below all tiles would be read as that of the terms.
  Rect under = at.result;
  if (has_sum && !tiles.empty()) {
    under = tiles.back().rect;
    bottom = under.max.y;
    under.min.x = std::max(at.result.min.x, std::min(under.min.x, room.max.x - page.px(150)));
  }
  draw_caption(page, sum, ranks, {under.min, {std::max(under.max.x, under.min.x + page.px(150)), 0}},
               bottom + page.px(8));
  if (!partial) draw_parts_in_columns(page, c, tiles.front().rect);
  if (pointed) draw_pointed(page, at, tiles, pointed, c.shape());
}

}  // namespace shardlens::ui
