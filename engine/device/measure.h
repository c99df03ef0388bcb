// All that is remembered of a piece of memory, in one pass over it: statistics, a hash, and block means.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/dtype.h"

namespace shardlens {

/// Numbers that are NaN or infinite are left out of the first four.
struct Measured {
  double min = 0, max = 0, sum = 0, squares = 0;
  int64_t not_finite = 0;
  uint64_t hash = 0;
};

/// A matrix [rows, cols] of `dtype`, row-major in host memory. `means`: [mean_rows, mean_cols], each the mean
/// of rows [r * rows / mean_rows, (r + 1) * rows / mean_rows) and columns alike, of all that is there, NaN
/// too. The hash is of the bytes and the same on every machine of one byte order.
Measured measure(DType dtype, const void* data, int64_t rows, int64_t cols, int mean_rows, int mean_cols,
                 float* means);

/// The block means alone.
void block_means(DType dtype, const void* data, int64_t rows, int64_t cols, int mean_rows, int mean_cols,
                 float* means);

}  // namespace shardlens
