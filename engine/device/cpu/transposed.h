// Copies a matrix transposed, at the speed of memory, and provides room for the copy.
#pragma once

#include <cstdint>

#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/gemm.h"

namespace shardlens::cpu {

/// copy_transposed() writes whole squares of this extent.
inline constexpr int64_t kSquare = 16;

/// Rounds `extent` up to a multiple of `grain`.
inline int64_t filled_up(int64_t extent, int64_t grain) {
  return (extent + grain - 1) / grain * grain;
}

/// Room in `kept` for a copy [rows, cols], with both extents rounded up to kSquare. `kept` grows when needed.
/// The row stride is not a power of two, with which a column would use few sets of a cache.
template <class T>
Rows<T> room_for_copy(int64_t rows, int64_t cols, Aligned<T>& kept) {
  constexpr int64_t kPadding = 16;
  const int64_t stride = filled_up(cols, kSquare) + kPadding;
  const auto needed = static_cast<size_t>(filled_up(rows, kSquare) * stride);
  if (kept.size() < needed) kept.resize(needed);
  return {kept.data(), stride};
}

/// Copies `from` [rows, cols] into `to` as [cols, rows]. `to` has room for both extents rounded up to
/// kSquare; the padding is written with zeros. Needs AVX-512: only x86/transposed.cpp has it.
void copy_transposed(Rows<const float> from, int64_t rows, int64_t cols, Rows<float> to);

}  // namespace shardlens::cpu
