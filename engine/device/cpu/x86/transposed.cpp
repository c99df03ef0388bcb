// Transposes 16 × 16 numbers at a time, and prefetches the next ones below.
#include "engine/device/cpu/transposed.h"

#include "engine/device/cpu/x86/square.h"

#pragma GCC target("avx512f,avx512bw,avx512vl")

namespace shardlens::cpu {

namespace {

/// Reads only the first `count` numbers of a register. The others are zero.
[[gnu::always_inline]] inline Register read(const float* from, int64_t count) {
  if (count >= kLane) return _mm512_loadu_si512(from);
  return count <= 0 ? _mm512_setzero_si512()
                    : _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1U << count) - 1), from);
}

}  // namespace

void copy_transposed(Rows<const float> from, int64_t rows, int64_t cols, Rows<float> to) {
  for (int64_t row = 0; row < rows; row += kLane) {
    for (int64_t col = 0; col < cols; col += kLane) {
      Square square;
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLane; ++i) {
        square[i] = read(from.at(row + i) + col, row + i < rows ? cols - col : 0);
        if (row + kLane + i < rows) __builtin_prefetch(from.at(row + kLane + i) + col);
      }
      transpose(square);
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLane; ++i) _mm512_storeu_si512(to.at(col + i) + row, square[i]);
    }
  }
}

}  // namespace shardlens::cpu
