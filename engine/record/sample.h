// What is remembered of one rank's piece of a tensor: statistics, a hash, a picture of at most 256 x 256, and
// the exact values where the piece is small enough to keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

inline constexpr int64_t kPictureExtent = 256;  ///< at most this many rows and columns in a picture
inline constexpr int64_t kExactElements = int64_t{1}
                                          << 20;  ///< pieces up to this size keep their exact values

/// Of a picture's finite cells, what its colours are scaled by.
struct PictureExtent {
  double largest = 0;  ///< magnitude
  double squares = 0;  ///< their sum
  int64_t finite = 0;  ///< how many there are
};

/// A matrix of floats, row-major: block means of the tensor it shows.
struct Picture {
  int rows = 0;
  int cols = 0;
  std::vector<float> values;
  PictureExtent extent;  ///< once measure_extent() was called

  /// Whether no cell is NaN or infinite, by its extent.
  bool all_finite() const { return extent.finite == static_cast<int64_t>(values.size()); }
};

/// Fills in `extent`. Whoever makes a picture calls it, while the cells are in a cache: who draws a whole
/// run's pictures anew would read them all from memory for it.
void measure_extent(Picture& picture);

struct TensorStats {
  double min = 0, max = 0, mean = 0, rms = 0;
  int64_t count = 0;
  int64_t nan_count = 0;  ///< elements that are NaN or infinite; they are left out of the four above
};

inline constexpr int64_t kExactBudgetBytes = int64_t{512} << 20;  ///< of all exact values of a run together

struct TensorSample {
  Shape shape;         ///< this rank's own
  MatrixShape matrix;  ///< the same, seen as a matrix
  DType dtype = DType::Fp32;
  TensorStats stats;
  uint64_t hash = 0;  ///< of the bytes; equal on all ranks for a Replicated tensor
  Picture picture;
  std::vector<std::byte> exact;  ///< empty when the piece has more than kExactElements

  bool has_exact() const { return !exact.empty(); }
  /// Element (row, col) of the matrix; only when has_exact().
  double value(int64_t row, int64_t col) const;
};

using SampleTable = std::vector<std::vector<std::shared_ptr<const TensorSample>>>;  ///< [rank][tensor]

/// What a sample keeps beside statistics and hash.
struct SampleDetail {
  int64_t picture_extent = kPictureExtent;  ///< at most this many rows and columns in its picture
  int64_t exact_elements = kExactElements;  ///< exact values are kept of pieces up to this size
};

/// Samples `data` (host memory), one rank's piece of `tensor`.
TensorSample make_sample(const Tensor& tensor, int ranks, int rank, const void* data,
                         const SampleDetail& detail = {});

/// The picture alone, of `rows` x `cols` cells, neither more than the piece has: what make_sample() makes at
/// an extent that gives as many. Empty for a piece without elements.
Picture make_picture(const Tensor& tensor, int ranks, int rank, const void* data, int rows, int cols);

inline constexpr int64_t kPictureBudgetBytes = int64_t{256} << 20;
/// The largest picture extent, `most` at most and no less than 32 for its bytes' sake, at which a picture of
/// `pictures_per_tensor` times every tensor of the Program fits into `budget_bytes`.
int64_t picture_extent(const Program& program, int pictures_per_tensor, int64_t most = kPictureExtent,
                       int64_t budget_bytes = kPictureBudgetBytes);

/// How every tensor of a Program is sampled so that all samples together stay within the budgets: pictures
/// always, exact values of the smallest tensors first. Per TensorId.
struct SamplePlan {
  std::vector<SampleDetail> details;
  int64_t sampled = 0;  ///< tensors that are sampled: all but workspace
  int64_t exact = 0;    ///< of them, those that keep exact values
};
SamplePlan plan_samples(const Program& program, int64_t exact_budget_bytes = kExactBudgetBytes);

/// Of how many tensors exact values are kept, in a sentence; empty: of all.
std::string why_not_exact(const SamplePlan& plan);

}  // namespace shardlens
