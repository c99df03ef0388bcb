// The comparison of one rank's piece of a tensor with its place in the right tensor, element by element.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "engine/program/program.h"
#include "engine/record/sample.h"

namespace shardlens {

/// Sums over the elements compared so far.
struct ParitySums {
  double difference_squares = 0;
  double right_squares = 0;
  double max_abs_difference = 0;

  void take(double value, double right) {
    const double difference = value - right;
    difference_squares += difference * difference;
    right_squares += right * right;
    // A NaN must not slip through: max() would drop it.
    if (!(std::abs(difference) <= max_abs_difference)) max_abs_difference = std::abs(difference);
  }
  void join(const ParitySums& other);
  /// Relative to the right values' own norm, or to `norm_of_terms` unless that is 0.
  double relative_error(double norm_of_terms) const;
};

/// Block means of |difference| over the full tensor's matrix.
class DifferencePicture {
 public:
  /// At most `extent` rows and columns.
  DifferencePicture(MatrixShape matrix, int64_t extent);
  void take(int64_t row, int64_t col, double difference);
  void join(const DifferencePicture& other);
  Picture means() const;

 private:
  MatrixShape matrix_;
  int rows_ = 0, cols_ = 0;
  std::vector<double> sums_;
  std::vector<int64_t> counts_;
};

struct ParityPiece {
  ParitySums sums;
  std::unique_ptr<DifferencePicture> picture;
};

/// Compares rank `rank`'s piece `local` with the same places of `right`, the elements of the full tensor in
/// its dtype. `extent` is the picture's extent; 0: no picture.
ParityPiece compare_piece(const Tensor& tensor, int ranks, int rank, const void* local, const void* right,
                          int64_t extent);

/// The full tensor as the sum, or the maximum, of terms that several ranks or replicas hold.
class TotalOfTerms {
 public:
  /// Adds one rank's term, which is of the full tensor or of the rank's slice.
  void add(const Tensor& tensor, int ranks, int rank, const void* term);
  ParityPiece compare(const Tensor& tensor, const void* right, int64_t extent) const;

 private:
  std::vector<double> total_;
};

}  // namespace shardlens
