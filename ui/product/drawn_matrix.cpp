// Draws pieces of matrices, turned ones too.
#include "ui/product/drawn_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ui/panels/tensor_words.h"
#include "ui/plan/seen_break.h"
#include "ui/plan/shown_plan.h"

namespace shardlens::ui {
namespace {

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

/// What a layout means. With a planted mistake no rank need hold what the layout says.
std::string meaning_of_layout(const OpenedPage& page, const DrawnMatrix& operand, int ranks) {
  const Tensor& tensor = *operand.tensor;
  const bool is_sharded = tensor.layout.kind == LayoutKind::Sharded && ranks > 1;
  const auto seen = seen_break(page.context);
  if (seen && seen->side() != BreakSide::Sound)
    return is_sharded ? "So the broken program reads it; the colours show what each rank holds." : "";
  const std::string sentence = layout_sentence(tensor, ranks);
  return operand.turned && is_sharded ? fmt::format("{} The picture is turned: {} are its {}.", sentence,
                                                    tensor.layout.dim == 0 ? "rows" : "columns",
                                                    tensor.layout.dim == 0 ? "columns" : "rows")
                                      : sentence;
}

}  // namespace

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

void draw_rank(const OpenedPage& page, const DrawnMatrix& operand, int ranks, int rank, const Rect& whole) {
  const auto& sample = operand.samples[static_cast<size_t>(rank)];
  const MatrixShape full = operand.shape(), local = local_matrix_shape(*operand.tensor, ranks, rank);
  const LayoutKind kind = operand.tensor->layout.kind;
  for (const Placement& piece : placements(*operand.tensor, ranks, rank)) {
    const Range rows = operand.turned ? piece.cols : piece.rows,
                cols = operand.turned ? piece.rows : piece.cols;
    const Rect place = stage::place_in(whole, full, rows, cols);
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
    draw_dashed_rect(page.list, {whole.min.x - page.px(3), whole.min.y - page.px(3)},
                     {whole.max.x + page.px(3), whole.max.y + page.px(3)}, page.theme.communication,
                     page.thin(2), page.px(6));
  else if (kind == LayoutKind::Replicated || ranks == 1)
    outline_rect(page.list, whole.min, whole.max, page.theme.dim, 0, page.thin());
}

std::vector<std::string> parts_in_columns(const DrawnMatrix& operand) {
  if (operand.turned) return {};
  switch (operand.tensor->role) {
    case Role::Qkv:
    case Role::QueriesKeysValues:
      return {"Q", "K", "V"};
    case Role::KeyValue:
    case Role::KeysValues:
      return {"K", "V"};
    default:
      return {};
  }
}

void draw_parts_in_columns(const OpenedPage& page, const DrawnMatrix& operand, const Rect& whole) {
  const std::vector<std::string> parts = parts_in_columns(operand);
  const TextStyle letter{page.context.fonts.bold, page.px(kSmallSize), page.theme.text};
  const float foot = whole.min.y - page.px(4), top = foot - page.px(5);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto edge = [&](size_t part) {
      return std::round(whole.min.x +
                        whole.width() * static_cast<float>(part) / static_cast<float>(parts.size()));
    };
    const float left = edge(i) + page.px(2), right = edge(i + 1) - page.px(2);
    draw_line(page.list, {left, foot}, {left, top}, page.theme.dim, page.thin());
    draw_line(page.list, {left, top}, {right, top}, page.theme.dim, page.thin());
    draw_line(page.list, {right, top}, {right, foot}, page.theme.dim, page.thin());
    draw_text(page.list, {(left + right) / 2, top - letter.size - page.px(2)}, letter, parts[i],
              Align::Centre);
  }
}

void draw_caption(const OpenedPage& page, const DrawnMatrix& operand, int ranks, const Rect& column,
                  float y) {
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
  draw_wrapped(page.list, {column.min.x, y}, page.type.note, meaning_of_layout(page, operand, ranks), width);
}

}  // namespace shardlens::ui
