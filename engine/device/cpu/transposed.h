// A copy of a matrix with rows as columns, at the speed of memory, and room for it.
#pragma once

#include <cstdint>

#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/gemm.h"

namespace shardlens::cpu {

/// copy_transposed() writes whole squares of this extent.
inline constexpr int64_t kSquare = 16;

/// To a multiple of `grain`.
inline int64_t filled_up(int64_t extent, int64_t grain) {
  return (extent + grain - 1) / grain * grain;
}

/// Room for a copy [rows, cols], both filled up to kSquare, in `kept`, which grows as it must. Its rows are
/// not a power of two apart, where a column of them would lie in a few sets of a cache.
template <class T>
Rows<T> room_for_copy(int64_t rows, int64_t cols, Aligned<T>& kept) {
  constexpr int64_t kPadding = 16;
  const int64_t stride = filled_up(cols, kSquare) + kPadding;
  const auto needed = static_cast<size_t>(filled_up(rows, kSquare) * stride);
  if (kept.size() < needed) kept.resize(needed);
  return {kept.data(), stride};
}

/// `from` [rows, cols] as [cols, rows] in `to`, which has room for both extents filled up to kSquare: what
/// lies there beyond them is written with zeros. Only where the processor has AVX-512.
void copy_transposed(Rows<const float> from, int64_t rows, int64_t cols, Rows<float> to);

}  // namespace shardlens::cpu
