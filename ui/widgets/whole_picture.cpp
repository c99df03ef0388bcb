// Joins or adds the ranks' pictures: see whole_picture.h.
#include "ui/widgets/whole_picture.h"

#include <algorithm>

namespace shardlens::ui {
namespace {

/// Which cell of a picture of `cells` shows element `at` of `extent`.
int64_t cell_of(int64_t at, int64_t extent, int64_t cells) {
  return std::clamp<int64_t>(at * cells / std::max<int64_t>(extent, 1), 0, cells - 1);
}

/// The element in the middle of cell `cell` of `cells` that show `extent` elements.
int64_t middle_of(int64_t cell, int64_t cells, int64_t extent) {
  return (2 * cell + 1) * extent / (2 * cells);
}

void add_piece(Picture& whole, MatrixShape full, const TensorSample& sample, const Placement& piece) {
  const Picture& own = sample.picture;
  for (int64_t row = 0; row < whole.rows; ++row) {
    const int64_t element_row = middle_of(row, whole.rows, full.rows);
    if (element_row < piece.rows.begin || element_row >= piece.rows.end) continue;
    const int64_t own_row =
        cell_of(piece.local_rows.begin + element_row - piece.rows.begin, sample.matrix.rows, own.rows);
    for (int64_t col = 0; col < whole.cols; ++col) {
      const int64_t element_col = middle_of(col, whole.cols, full.cols);
      if (element_col < piece.cols.begin || element_col >= piece.cols.end) continue;
      const int64_t own_col =
          cell_of(piece.local_cols.begin + element_col - piece.cols.begin, sample.matrix.cols, own.cols);
      whole.values[static_cast<size_t>(row * whole.cols + col)] +=
          own.values[static_cast<size_t>(own_row * own.cols + own_col)];
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
  return whole;
}

}  // namespace shardlens::ui
