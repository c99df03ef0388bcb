// A copy of a matrix with rows as columns, at the speed of memory.
#pragma once

#include <cstdint>

#include "engine/device/cpu/gemm.h"

namespace shardlens::cpu {

/// An extent of a copy, which is made in whole squares.
inline int64_t in_squares(int64_t extent) {
  return (extent + 15) / 16 * 16;
}

/// `from` [rows, cols] as [cols, rows] in `to`, which has room for both extents in_squares(): what lies there
/// beyond them is written with zeros. Only where the processor has AVX-512.
void copy_transposed(Rows<const float> from, int64_t rows, int64_t cols, Rows<float> to);

}  // namespace shardlens::cpu
