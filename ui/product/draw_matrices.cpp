// Draws a product as matrices: A, B and the result side by side, as the equation has them, with every rank's
// part at its place. A point of the result lights up its row of A and its column of B; a click opens that
// number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ui/panels/tensor_words.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/page.h"
#include "ui/product/product_view.h"
#include "ui/stage/meeting.h"
#include "ui/widgets/format.h"
#include "ui/widgets/heatmap.h"
#include "ui/widgets/whole_picture.h"

namespace shardlens::ui {
namespace {

constexpr float kCaption = 62;  ///< below a matrix: its symbol, its shape, its layout
constexpr double kPower = 0.5;  ///< sides grow less than in proportion to the shape

/// Pictures with rows and columns exchanged, for as long as the same result is shown.
struct TurnedPictures {
  std::weak_ptr<const Result> of;
  std::map<const TensorSample*, std::shared_ptr<const Picture>> known;
};

std::shared_ptr<const Picture> turned_picture(const Context& context, const TensorSample& sample) {
  auto& pictures = context.view.of<TurnedPictures>();
  const std::shared_ptr<const Result> shown = shown_result(context.snapshot);
  if (pictures.of.lock() != shown) pictures = {shown, {}};
  std::shared_ptr<const Picture>& turned = pictures.known[&sample];
  if (turned) return turned;
  const Picture& from = sample.picture;
  auto made = std::make_shared<Picture>();
  made->rows = from.cols;
  made->cols = from.rows;
  made->values.resize(from.values.size());
  for (int row = 0; row < from.rows; ++row)
    for (int col = 0; col < from.cols; ++col)
      made->values[static_cast<size_t>(col) * static_cast<size_t>(from.rows) + static_cast<size_t>(row)] =
          from.values[static_cast<size_t>(row) * static_cast<size_t>(from.cols) + static_cast<size_t>(col)];
  measure_extent(*made);
  return turned = made;
}

/// A factor or the result as the equation has it.
struct DrawnMatrix {
  const Tensor* tensor = nullptr;
  bool turned = false;
  RankSamples samples;
  ColourScale scale;

  MatrixShape shape() const {
    const MatrixShape full = matrix_shape(*tensor);
    return turned ? MatrixShape{full.cols, full.rows} : full;
  }
  std::string title() const { return tensor->symbol + (turned ? "\u1D40" : ""); }
};

DrawnMatrix operand_of(const Context& context, const Program& program, TensorId id, bool turned) {
  DrawnMatrix operand{&program.tensor(id), turned, RankSamples(static_cast<size_t>(program.tp())), {}};
  const std::shared_ptr<const Result> result = shown_result(context.snapshot);
  const StepId made = producer_of(program, id);
  const bool ahead = made >= 0 && static_cast<size_t>(made) >= context.snapshot.position;
  for (size_t rank = 0; result && !ahead && rank < operand.samples.size(); ++rank)
    if (rank < result->samples.size() && static_cast<size_t>(id) < result->samples[rank].size())
      operand.samples[rank] = result->samples[rank][static_cast<size_t>(id)];
  operand.scale = context.heatmaps.scale(operand.samples);
  return operand;
}

Rect part_of(const Rect& whole, Range rows, Range cols, MatrixShape full) {
  const auto along = [](float begin, float length, int64_t at, int64_t all) {
    return std::round(begin +
                      length * static_cast<float>(static_cast<double>(at) / static_cast<double>(all)));
  };
  return {{along(whole.min.x, whole.width(), cols.begin, full.cols),
           along(whole.min.y, whole.height(), rows.begin, full.rows)},
          {along(whole.min.x, whole.width(), cols.end, full.cols),
           along(whole.min.y, whole.height(), rows.end, full.rows)}};
}

/// Draws what one rank holds, at its place in `whole`.
void draw_rank(const Page& page, const DrawnMatrix& operand, int ranks, int rank, const Rect& whole) {
  const auto& sample = operand.samples[static_cast<size_t>(rank)];
  const MatrixShape full = operand.shape(), local = local_matrix_shape(*operand.tensor, ranks, rank);
  const LayoutKind kind = operand.tensor->layout.kind;
  for (const Placement& piece : placements(*operand.tensor, ranks, rank)) {
    const Range rows = operand.turned ? piece.cols : piece.rows,
                cols = operand.turned ? piece.rows : piece.cols;
    const Rect place = part_of(whole, rows, cols, full);
    if (sample && !sample->picture.values.empty()) {
      const Range from_rows = operand.turned ? piece.local_cols : piece.local_rows;
      const Range from_cols = operand.turned ? piece.local_rows : piece.local_cols;
      const auto share = [](int64_t at, int64_t all) {
        return static_cast<float>(static_cast<double>(at) / static_cast<double>(std::max<int64_t>(all, 1)));
      };
      const int64_t all_rows = operand.turned ? local.cols : local.rows,
                    all_cols = operand.turned ? local.rows : local.cols;
      const std::shared_ptr<const Picture> turned =
          operand.turned ? turned_picture(page.context, *sample) : nullptr;
      const std::shared_ptr<const void> owner = turned ? std::shared_ptr<const void>(turned) : sample;
      page.context.heatmaps.draw(page.list, place.min, place.max, owner, turned ? *turned : sample->picture,
                                 operand.scale,
                                 {share(from_cols.begin, all_cols), share(from_rows.begin, all_rows)},
                                 {share(from_cols.end, all_cols), share(from_rows.end, all_rows)});
    }
    if (kind == LayoutKind::Sharded && ranks > 1) {
      outline_rect(page.list, place.min, place.max, page.rank_ink(rank), 0, page.thin(2.5f));
      const TextStyle style{page.context.fonts.bold, page.px(kSmallSize),
                            legible_on(page.theme, page.theme.ranks[rank % 8])};
      const std::string words = fmt::format("rank {}", rank);
      const float width = text_width(style, words) + page.px(10);
      if (place.width() < width + page.px(8) || place.height() < style.size + page.px(10)) continue;
      const ImVec2 tag{place.min.x + page.thin(2.5f), place.min.y + page.thin(2.5f)};
      fill_rect(page.list, tag, {tag.x + width, tag.y + style.size + page.px(4)}, page.theme.ranks[rank % 8]);
      draw_text(page.list, {tag.x + page.px(5), tag.y + page.px(2)}, style, words);
    }
  }
  if (kind == LayoutKind::Partial && ranks > 1)
    draw_dashed_rect(page.list, {whole.min.x + 1, whole.min.y + 1}, {whole.max.x - 1, whole.max.y - 1},
                     page.theme.communication, page.thin(2), page.px(6));
  else if (kind == LayoutKind::Replicated || ranks == 1)
    outline_rect(page.list, whole.min, whole.max, page.theme.dim, 0, page.thin());
}

void draw_caption(const Page& page, const DrawnMatrix& operand, int ranks, const Rect& column, float y) {
  const float width = column.width();
  const TextStyle symbol{page.context.fonts.mono, page.px(17), page.theme.text};
  draw_text(page.list, {column.min.x, y}, symbol, operand.title());
  const float x = column.min.x + text_width(symbol, operand.title()) + page.px(10);
  const MatrixShape shape = operand.shape();
  draw_text(page.list, {x, y + page.px(3)}, page.type.mono_note,
            fitted(page.type.mono_note, fmt::format("[{}, {}]", shape.rows, shape.cols), column.max.x - x));
  y += symbol.size + page.px(4);
  const bool partial = operand.tensor->layout.kind == LayoutKind::Partial && ranks > 1;
  const TextStyle layout{partial ? page.context.fonts.bold : page.context.fonts.body, page.px(kSmallSize),
                         partial ? page.theme.communication : page.theme.dim};
  draw_text(page.list, {column.min.x, y}, layout,
            fitted(layout, layout_title(*operand.tensor, ranks), width));
  y += layout.size + page.px(2);
  draw_text(page.list, {column.min.x, y}, page.type.note,
            fitted(page.type.note, layout_sentence(*operand.tensor, ranks), width));
}

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

std::vector<Tile> tiles_of(const Page& page, const Rect& room, int terms, bool has_sum) {
  if (terms <= 1) return {{room}};
  const int count = terms + (has_sum ? 1 : 0);
  // The number of columns with which the tiles, as wide for their height as the room, become largest.
  const float label = page.px(20), gap = page.px(14), aspect = room.width() / room.height();
  int columns = 1;
  float width = 0;
  for (int tried = 1; tried <= count; ++tried) {
    const int rows = (count + tried - 1) / tried;
    const float across = (room.width() - gap * static_cast<float>(tried - 1)) / static_cast<float>(tried);
    const float down = room.height() / static_cast<float>(rows) - label - gap;
    const float fits = std::min(across, std::max(down, 1.0f) * aspect);
    if (fits > width) width = fits, columns = tried;
  }
  std::vector<Tile> tiles;
  const float height = width / aspect;
  for (int i = 0; i < count; ++i) {
    const ImVec2 at{
        std::round(room.min.x + static_cast<float>(i % columns) * (width + gap)),
        std::round(room.min.y + static_cast<float>(i / columns) * (height + label + gap) + label)};
    tiles.push_back({{at, {at.x + width, at.y + height}}, i, i == terms});
  }
  return tiles;
}

}  // namespace

void draw_matrices(const Page& page, const Product& product, const Rect& room) {
  const Context& context = page.context;
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  const Program& program = plan->program;
  const int ranks = program.tp();
  const DrawnMatrix a = operand_of(context, program, product.a, product.a_turned);
  const DrawnMatrix b = operand_of(context, program, product.b, product.b_turned);
  const DrawnMatrix c = operand_of(context, program, product.out, false);
  const StepId conversion = conversion_after(program, product.out);
  const bool partial = ranks > 1 && c.tensor->layout.kind == LayoutKind::Partial;

  const MatrixShape whole_a = a.shape(), whole_c = c.shape();
  const auto side = [](int64_t extent) {
    return static_cast<float>(std::pow(static_cast<double>(extent), kPower));
  };
  const float between = page.px(64), caption = page.px(kCaption);
  const float across = side(whole_a.cols) + 2 * side(whole_c.cols);
  const float down = std::max(side(whole_a.rows), side(whole_a.cols));
  // A Partial result has a picture for each rank, so it gets more room than its shape asks for.
  const float more = partial ? 0.6f * side(whole_c.cols) : 0;
  const float sized = std::min((room.width() - 2 * between) / (across + more),
                               (room.height() - caption - page.px(28)) / down);
  const float widths[] = {side(whole_a.cols) * sized, side(whole_c.cols) * sized,
                          room.width() - 2 * between - (side(whole_a.cols) + side(whole_c.cols)) * sized};
  const float heights[] = {side(whole_a.rows) * sized, side(whole_a.cols) * sized,
                           partial ? down * sized : side(whole_a.rows) * sized};
  const float used = partial ? 0 : (widths[2] - side(whole_c.cols) * sized) / 2;
  float x = room.min.x + used;
  const float middle = room.min.y + page.px(12) + down * sized / 2;
  const TextStyle sign{context.fonts.mono, page.px(28), page.theme.dim};
  const DrawnMatrix* const factors[] = {&a, &b};
  Rect places[2];
  for (int i = 0; i < 2; ++i) {
    places[i] = {{std::round(x), std::round(middle - heights[i] / 2)},
                 {std::round(x + widths[i]), std::round(middle + heights[i] / 2)}};
    fill_rect(page.list, places[i].min, places[i].max, page.theme.ghost);
    const int last = factors[i]->tensor->layout.kind == LayoutKind::Replicated ? 0 : ranks - 1;
    for (int rank = 0; rank <= last; ++rank) draw_rank(page, *factors[i], ranks, rank, places[i]);
    draw_caption(page, *factors[i], ranks, {{x, 0}, {x + std::max(widths[i], page.px(150)), 0}},
                 places[i].max.y + page.px(8));
    x += widths[i];
    draw_text(page.list, {x + between / 2, middle - sign.size / 2}, sign, i == 0 ? "\u00B7" : "=",
              Align::Centre);
    x += between;
  }
  const float result_width = partial ? widths[2] : side(whole_c.cols) * sized;
  const Rect result{{std::round(x), std::round(middle - heights[2] / 2)},
                    {std::round(x + result_width), std::round(middle + heights[2] / 2)}};
  const bool has_sum = partial && conversion >= 0;
  std::vector<Tile> tiles = tiles_of(page, result, partial ? ranks : 1, has_sum);
  const DrawnMatrix sum =
      has_sum ? operand_of(context, program, program.step(conversion).outputs.front(), false) : c;
  Pointed at;
  float bottom = result.min.y;
  for (const Tile& tile : tiles) {
    const DrawnMatrix& shown = tile.sum ? sum : c;
    fill_rect(page.list, tile.rect.min, tile.rect.max, page.theme.ghost);
    const bool one_rank = tile.rank >= 0 && !tile.sum;
    const bool every = !one_rank && shown.tensor->layout.kind == LayoutKind::Sharded;
    for (int rank = one_rank ? tile.rank : 0; rank <= (one_rank ? tile.rank : every ? ranks - 1 : 0); ++rank)
      draw_rank(page, shown, ranks, rank, tile.rect);
    if (tile.rank >= 0) {
      const TextStyle style{context.fonts.bold, page.px(kSmallSize),
                            one_rank ? page.rank_ink(tile.rank) : page.theme.agreement};
      const std::string words = one_rank
                                    ? fmt::format("rank {}: a term", tile.rank)
                                    : fmt::format("after the {}", to_string(program.step(conversion).op));
      draw_text(page.list, {tile.rect.min.x, tile.rect.min.y - style.size - page.px(3)}, style,
                fitted(style, words, tile.rect.width()));
    }
    ImGui::SetCursorScreenPos(tile.rect.min);
    const std::string id = tile.sum ? "sum" : fmt::format("result {}", std::max(tile.rank, 0));
    ImGui::SetNextItemAllowOverlap();
    const bool clicked = ImGui::InvisibleButton(
        id.c_str(), {std::max(1.0f, tile.rect.width()), std::max(1.0f, tile.rect.height())});
    if (ImGui::IsItemHovered()) {
      at = pointed_in(tile.rect, whole_c, ImGui::GetMousePos());
      ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      ImGui::SetTooltip("%s\nA click shows how this number is made.",
                        element_text(c.tensor->symbol, at.row, at.col).c_str());
    }
    if (clicked) {
      const Pointed chosen = at ? at : Pointed{whole_c.rows / 2, whole_c.cols / 2};
      open_number(context, chosen.row, chosen.col);
    }
    bottom = std::max(bottom, tile.rect.max.y);
  }
  draw_caption(page, c, ranks, {{result.min.x, 0}, {std::max(result.max.x, result.min.x + page.px(150)), 0}},
               bottom + page.px(8));
  if (!at) return;
  // The row of A and the column of B that make the number, and the number in every tile.
  const ImU32 accent = page.theme.text;
  const auto line = [&](const Rect& whole, double share, bool across_it) {
    const float y = whole.min.y + static_cast<float>(share) * whole.height(),
                x0 = whole.min.x + static_cast<float>(share) * whole.width();
    if (across_it)
      draw_line(page.list, {whole.min.x, y}, {whole.max.x, y}, accent, page.thin(2));
    else
      draw_line(page.list, {x0, whole.min.y}, {x0, whole.max.y}, accent, page.thin(2));
  };
  const double down_share = (static_cast<double>(at.row) + 0.5) / static_cast<double>(whole_c.rows);
  const double across_share = (static_cast<double>(at.col) + 0.5) / static_cast<double>(whole_c.cols);
  line(places[0], down_share, true);
  line(places[1], across_share, false);
  for (const Tile& tile : tiles) {
    const ImVec2 centre{tile.rect.min.x + static_cast<float>(across_share) * tile.rect.width(),
                        tile.rect.min.y + static_cast<float>(down_share) * tile.rect.height()};
    const float half = page.px(5);
    outline_rect(page.list, {centre.x - half, centre.y - half}, {centre.x + half, centre.y + half}, accent, 0,
                 page.thin(2));
  }
}

}  // namespace shardlens::ui
