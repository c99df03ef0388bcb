// A copy of a matrix with rows as columns, at the speed of memory.
#pragma once

#include <cstdint>

#include "engine/device/cpu/gemm.h"

namespace shardlens::cpu {

/// copy_transposed() writes whole squares of this extent.
inline constexpr int64_t kSquare = 16;

/// To a multiple of `grain`.
inline int64_t filled_up(int64_t extent, int64_t grain) {
  return (extent + grain - 1) / grain * grain;
}

/// `from` [rows, cols] as [cols, rows] in `to`, which has room for both extents filled up to kSquare: what
/// lies there beyond them is written with zeros. Only where the processor has AVX-512.
void copy_transposed(Rows<const float> from, int64_t rows, int64_t cols, Rows<float> to);

}  // namespace shardlens::cpu
