// A sample of one rank's piece of a tensor: statistics, a hash, a picture of at most 256 x 256, and the exact
// values if the piece is small enough to keep them.
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

/// Properties of a picture's finite cells, by which its colours are scaled.
struct PictureExtent {
  double largest = 0;  ///< largest magnitude
  double squares = 0;  ///< sum of their squares
  int64_t finite = 0;  ///< number of finite cells
};

/// A matrix of floats, row-major: block means of the tensor it shows.
struct Picture {
  int rows = 0;
  int cols = 0;
  std::vector<float> values;
  PictureExtent extent;  ///< set by measure_extent()

  /// True if no cell is NaN or infinite, according to `extent`.
  bool all_finite() const { return extent.finite == static_cast<int64_t>(values.size()); }
};

/// Fills in `extent`. Call it when the picture is made, while the cells are in a cache. Otherwise, drawing
/// all pictures of a run would read every cell from memory again for it.
void measure_extent(Picture& picture);

struct TensorStats {
  double min = 0, max = 0, mean = 0, rms = 0;
  int64_t count = 0;
  int64_t nan_count = 0;  ///< elements that are NaN or infinite; they are left out of the four above
};

/// For all exact values of a run. A program with 32-bit addresses is a browser's page, which shares a small
/// memory with the page's other things and never gives any back.
inline constexpr int64_t kExactBudgetBytes = (sizeof(void*) == 4 ? int64_t{16} : int64_t{512}) << 20;

/// Element `index` of a piece in host memory.
double element_of(DType dtype, const void* data, int64_t index);

struct TensorSample {
  Shape shape;         ///< of this rank's piece
  MatrixShape matrix;  ///< the piece as a matrix
  DType dtype = DType::Fp32;
  TensorStats stats;
  uint64_t hash = 0;  ///< of the bytes; equal on all ranks for a Replicated tensor
  Picture picture;
  std::vector<std::byte> exact;  ///< empty if the piece has more than kExactElements

  bool has_exact() const { return !exact.empty(); }
  /// Element (row, col) of the matrix. Call only if has_exact().
  double value(int64_t row, int64_t col) const;
};

using SampleTable = std::vector<std::vector<std::shared_ptr<const TensorSample>>>;  ///< [rank][tensor]

/// What a sample keeps in addition to statistics and hash.
struct SampleDetail {
  int64_t picture_extent = kPictureExtent;  ///< at most this many rows and columns in its picture
  int64_t exact_elements = kExactElements;  ///< pieces up to this size keep their exact values
};

/// Samples `data` (host memory), one rank's piece of `tensor`.
TensorSample make_sample(const Tensor& tensor, int ranks, int rank, const void* data,
                         const SampleDetail& detail = {});

/// Only the picture, of `rows` x `cols` cells, which must not be more than the piece has. It equals the
/// picture of make_sample() at an extent that gives as many cells. Empty for a piece without elements.
Picture make_picture(const Tensor& tensor, int ranks, int rank, const void* data, int rows, int cols);

inline constexpr int64_t kPictureBudgetBytes = (sizeof(void*) == 4 ? int64_t{32} : int64_t{256}) << 20;
/// The largest picture extent at which `pictures_per_tensor` pictures of every tensor of the Program fit into
/// `budget_bytes`. It is at most `most`, and the budget never makes it less than 32.
int64_t picture_extent(const Program& program, int pictures_per_tensor, int64_t most = kPictureExtent,
                       int64_t budget_bytes = kPictureBudgetBytes);

/// How every tensor of a Program is sampled, so that all samples together stay within the budgets. Every
/// tensor gets a picture. Exact values are kept for the smallest tensors first. Per TensorId.
struct SamplePlan {
  std::vector<SampleDetail> details;
  int64_t sampled = 0;  ///< tensors that are sampled: all except workspace
  int64_t exact = 0;    ///< sampled tensors that keep exact values
};
SamplePlan plan_samples(const Program& program, int64_t exact_budget_bytes = kExactBudgetBytes,
                        int64_t picture_budget_bytes = kPictureBudgetBytes);

/// Says in a sentence how many tensors keep exact values; empty: all do.
std::string why_not_exact(const SamplePlan& plan);

}  // namespace shardlens
