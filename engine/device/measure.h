// Measures a tensor in one pass over its memory: statistics, a hash, and the means of blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/dtype.h"

namespace shardlens {

/// NaN and infinite numbers are left out of min, max, sum and squares.
struct Measured {
  double min = 0, max = 0, sum = 0, squares = 0;
  int64_t not_finite = 0;
  uint64_t hash = 0;
};

/// Measures a matrix [rows, cols] of `dtype`, row-major in host memory. `means` is [mean_rows, mean_cols]:
/// each is the mean of rows [r * rows / mean_rows, (r + 1) * rows / mean_rows), and of columns likewise. NaN
/// and infinite numbers count in the means. The hash is of the bytes. It is the same on every machine with
/// the same byte order.
Measured measure(DType dtype, const void* data, int64_t rows, int64_t cols, int mean_rows, int mean_cols,
                 float* means);

/// Computes only the block means.
void block_means(DType dtype, const void* data, int64_t rows, int64_t cols, int mean_rows, int mean_cols,
                 float* means);

}  // namespace shardlens
