// Joins or adds the ranks' pictures: see whole_picture.h.
#include "ui/widgets/whole_picture.h"

#include <algorithm>
#include <vector>

namespace shardlens::ui {
namespace {

/// Returns the cell, of `cells`, that shows element `at` of `extent`.
int64_t cell_of(int64_t at, int64_t extent, int64_t cells) {
  return std::clamp<int64_t>(at * cells / std::max<int64_t>(extent, 1), 0, cells - 1);
}

/// Returns the element in the middle of cell `cell`, if `cells` cells show `extent` elements.
int64_t middle_of(int64_t cell, int64_t cells, int64_t extent) {
  return (2 * cell + 1) * extent / (2 * cells);
}

/// Returns for each cell of the whole picture, in one direction, the cell of the piece that it shows; -1
/// outside the piece.
std::vector<int64_t> own_cells(int64_t cells, int64_t extent, Range piece, int64_t local_begin,
                               int64_t own_extent, int64_t own_cells) {
  std::vector<int64_t> own(static_cast<size_t>(cells), -1);
  for (int64_t cell = 0; cell < cells; ++cell) {
    const int64_t element = middle_of(cell, cells, extent);
    if (element >= piece.begin && element < piece.end)
      own[static_cast<size_t>(cell)] = cell_of(local_begin + element - piece.begin, own_extent, own_cells);
  }
  return own;
}

void add_piece(Picture& whole, MatrixShape full, const TensorSample& sample, const Placement& piece) {
  const Picture& own = sample.picture;
  const std::vector<int64_t> rows =
      own_cells(whole.rows, full.rows, piece.rows, piece.local_rows.begin, sample.matrix.rows, own.rows);
  const std::vector<int64_t> cols =
      own_cells(whole.cols, full.cols, piece.cols, piece.local_cols.begin, sample.matrix.cols, own.cols);
  float* cell = whole.values.data();
  for (const int64_t row : rows) {
    for (const int64_t col : cols) {
      if (row >= 0 && col >= 0) *cell += own.values[static_cast<size_t>(row * own.cols + col)];
      ++cell;
    }
  }
}

}  // namespace

Picture whole_picture(const Tensor& tensor, const RankSamples& samples) {
  const int ranks = static_cast<int>(samples.size());
  const int used = tensor.layout.kind == LayoutKind::Replicated ? std::min(ranks, 1) : ranks;
  if (used == 0) return {};
  for (int rank = 0; rank < used; ++rank) {
    const auto& sample = samples[static_cast<size_t>(rank)];
    if (!sample) return {};
    const bool holds_something = sample->matrix.rows > 0 && sample->matrix.cols > 0;
    if (holds_something && sample->picture.values.empty()) return {};
  }
  const MatrixShape full = matrix_shape(tensor);
  Picture whole;
  whole.rows = static_cast<int>(std::min(full.rows, kPictureExtent));
  whole.cols = static_cast<int>(std::min(full.cols, kPictureExtent));
  whole.values.assign(static_cast<size_t>(whole.rows) * static_cast<size_t>(whole.cols), 0.0f);
  for (int rank = 0; rank < used; ++rank) {
    const TensorSample& sample = *samples[static_cast<size_t>(rank)];
    if (sample.picture.values.empty()) continue;
    for (const Placement& piece : placements(tensor, ranks, rank)) add_piece(whole, full, sample, piece);
  }
  measure_extent(whole);
  return whole;
}

}  // namespace shardlens::ui
