// One loop over the elements of a piece for each type that they are stored as.
#include "engine/runtime/parity_piece.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/io/with_type.h"

namespace shardlens {

void ParitySums::join(const ParitySums& other) {
  difference_squares += other.difference_squares;
  right_squares += other.right_squares;
  if (!(other.max_abs_difference <= max_abs_difference)) max_abs_difference = other.max_abs_difference;
}

double ParitySums::relative_error(double norm_of_terms) const {
  if (difference_squares == 0) return 0;
  const double ratio =
      std::sqrt(difference_squares) / (norm_of_terms > 0 ? norm_of_terms : std::sqrt(right_squares));
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

DifferencePicture::DifferencePicture(MatrixShape matrix, int64_t extent)
    : matrix_(matrix),
      rows_(static_cast<int>(std::min(matrix.rows, extent))),
      cols_(static_cast<int>(std::min(matrix.cols, extent))),
      sums_(static_cast<size_t>(rows_) * static_cast<size_t>(cols_), 0),
      counts_(sums_.size(), 0) {}

void DifferencePicture::take(int64_t row, int64_t col, double difference) {
  const int64_t r = row * rows_ / matrix_.rows;
  const int64_t c = col * cols_ / matrix_.cols;
  const auto cell = static_cast<size_t>(r * cols_ + c);
  sums_[cell] += std::abs(difference);
  ++counts_[cell];
}

void DifferencePicture::join(const DifferencePicture& other) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += other.sums_[i];
    counts_[i] += other.counts_[i];
  }
}

Picture DifferencePicture::means() const {
  Picture picture{rows_, cols_, std::vector<float>(sums_.size()), {}};
  for (size_t i = 0; i < sums_.size(); ++i)
    picture.values[i] = counts_[i] ? static_cast<float>(sums_[i] / static_cast<double>(counts_[i])) : 0.0f;
  measure_extent(picture);
  return picture;
}

namespace {

template <typename T>
ParityPiece compare(const Tensor& tensor, int ranks, int rank, const T* local, const T* right,
                    int64_t extent) {
  ParityPiece piece;
  const MatrixShape full = matrix_shape(tensor);
  const MatrixShape own = local_matrix_shape(tensor, ranks, rank);
  if (extent > 0) piece.picture = std::make_unique<DifferencePicture>(full, extent);
  for (const Placement& place : placements(tensor, ranks, rank)) {
    for (int64_t i = 0; i < place.rows.size(); ++i) {
      const T* mine = local + (place.local_rows.begin + i) * own.cols + place.local_cols.begin;
      const T* theirs = right + (place.rows.begin + i) * full.cols + place.cols.begin;
      for (int64_t j = 0; j < place.cols.size(); ++j) {
        piece.sums.take(static_cast<double>(mine[j]), static_cast<double>(theirs[j]));
      }
      if (extent == 0) continue;
      for (int64_t j = 0; j < place.cols.size(); ++j) {
        piece.picture->take(place.rows.begin + i, place.cols.begin + j,
                            static_cast<double>(mine[j]) - static_cast<double>(theirs[j]));
      }
    }
  }
  return piece;
}

// Adds a term to `total`, in its place.
template <typename T>
void accumulate(const Tensor& tensor, int ranks, int rank, const T* term, std::vector<double>& total) {
  const bool of_maxima = tensor.layout == kPartialMax;
  const int64_t full_cols = matrix_shape(tensor).cols;
  const int64_t own_cols = local_matrix_shape(tensor, ranks, rank).cols;
  for (const Placement& place : placements(tensor, ranks, rank)) {
    for (int64_t i = 0; i < place.rows.size(); ++i) {
      double* to = total.data() + (place.rows.begin + i) * full_cols + place.cols.begin;
      const T* from = term + (place.local_rows.begin + i) * own_cols + place.local_cols.begin;
      for (int64_t j = 0; j < place.cols.size(); ++j) {
        const auto value = static_cast<double>(from[j]);
        to[j] = !of_maxima ? to[j] + value : value > to[j] || std::isnan(value) ? value : to[j];
      }
    }
  }
}

}  // namespace

ParityPiece compare_piece(const Tensor& tensor, int ranks, int rank, const void* local, const void* right,
                          int64_t extent) {
  return with_type(tensor.dtype, [&]<typename T>(T) {
    return compare(tensor, ranks, rank, static_cast<const T*>(local), static_cast<const T*>(right), extent);
  });
}

void TotalOfTerms::add(const Tensor& tensor, int ranks, int rank, const void* term) {
  const double none = tensor.layout == kPartialMax ? -std::numeric_limits<double>::infinity() : 0.0;
  total_.resize(static_cast<size_t>(element_count(tensor.shape)), none);
  with_type(tensor.dtype,
            [&]<typename T>(T) { accumulate(tensor, ranks, rank, static_cast<const T*>(term), total_); });
}

ParityPiece TotalOfTerms::compare(const Tensor& tensor, const void* right, int64_t extent) const {
  return with_type(tensor.dtype, [&]<typename T>(T) {
    ParityPiece piece;
    const MatrixShape full = matrix_shape(tensor);
    if (extent > 0) piece.picture = std::make_unique<DifferencePicture>(full, extent);
    for (int64_t i = 0; i < static_cast<int64_t>(total_.size()); ++i) {
      const double value = total_[static_cast<size_t>(i)];
      const auto wanted = static_cast<double>(static_cast<const T*>(right)[i]);
      piece.sums.take(value, wanted);
      if (extent > 0) piece.picture->take(i / full.cols, i % full.cols, value - wanted);
    }
    return piece;
  });
}

}  // namespace shardlens
