// Two operations make all of these copies: interleaving the numbers of two rows, and transposing 16 × 16
// pairs. oneDNN's reorder makes the same copies, but that of an untransposed B has a quarter of the speed. A
// processor with AMX has AVX-512, so this file uses it even if the rest of the program does not.
#include "engine/device/cpu/x86/bf16_pairs.h"

#include <immintrin.h>

#include <array>

#include "engine/device/cpu/x86/square.h"

#pragma GCC target("avx512f,avx512bw,avx512vl")

namespace shardlens::cpu {

namespace {

constexpr int64_t kNumbers = 2 * kLane;         // in a register
constexpr int64_t kStripRow = 2 * kPairedCols;  // numbers of two rows of a strip
constexpr int64_t kRowsAhead = 12;              // prefetched

/// Reads only the first `count` numbers of a register. The others are zero.
[[gnu::always_inline]] inline Register read(const Bf16* from, int64_t count) {
  if (count >= kNumbers) return _mm512_loadu_si512(from);
  return count <= 0 ? _mm512_setzero_si512() : _mm512_maskz_loadu_epi16((__mmask32{1} << count) - 1, from);
}

/// Interleaves 16 numbers of both registers, beginning with number `from`.
template <int from>
[[gnu::always_inline]] inline Register side_by_side(Register upper, Register lower) {
  alignas(64) static constexpr auto kOrder = [] {
    std::array<uint16_t, kNumbers> order{};
    for (int i = 0; i < kLane; ++i) {
      order[2 * i] = static_cast<uint16_t>(from + i);
      order[2 * i + 1] = static_cast<uint16_t>(from + i + kNumbers);
    }
    return order;
  }();
  return _mm512_permutex2var_epi16(upper, _mm512_load_si512(kOrder.data()), lower);
}

/// The interleaved numbers of two rows: for a register's first 16 columns, and for its last 16.
struct Sides {
  Register first, last;
};

/// Rows `row` and `row` + 1 of `matrix` [rows, cols] from column `col` on. Elements outside are zero.
[[gnu::always_inline]] inline Sides two_rows(Rows<const Bf16> matrix, int64_t rows, int64_t cols, int64_t row,
                                             int64_t col) {
  const Register upper = read(matrix.at(row) + col, row < rows ? cols - col : 0);
  const Register lower = read(matrix.at(row + 1) + col, row + 1 < rows ? cols - col : 0);
  return {side_by_side<0>(upper, lower), side_by_side<kLane>(upper, lower)};
}

/// The begin of column `col` in a copy in pairs with `rows` padded rows.
Bf16* column_in_pairs(Bf16* to, int64_t rows, int64_t col) {
  return to + col / kPairedCols * kPairedCols * rows + col % kPairedCols * 2;
}

void pair_rows(Rows<const Bf16> b, int64_t k, int64_t n, Bf16* to) {
  const int64_t rows = filled_up(k, kPairedRows), cols = filled_up(n, kPairedCols);
  for (int64_t row = 0; row < rows; row += 2) {
    const bool asks = row + kRowsAhead + 1 < k;
    for (int64_t col = 0; col < cols; col += kNumbers) {
      if (asks) {
        __builtin_prefetch(b.at(row + kRowsAhead) + col);
        __builtin_prefetch(b.at(row + kRowsAhead + 1) + col);
      }
      const Sides sides = two_rows(b, k, n, row, col);
      Bf16* const at = column_in_pairs(to, rows, col) + row / 2 * kStripRow;
      _mm512_storeu_si512(at, sides.first);
      _mm512_storeu_si512(at + kNumbers, sides.last);
    }
  }
}

void pair_cols(Rows<const Bf16> b, int64_t k, int64_t n, Bf16* to) {
  const int64_t rows = filled_up(k, kPairedRows), cols = filled_up(n, kPairedCols);
  for (int64_t col = 0; col < cols; col += kLane) {
    Bf16* const strip = column_in_pairs(to, rows, col);
    for (int64_t row = 0; row < rows; row += kNumbers) {
      Square square;
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLane; ++i) square[i] = read(b.at(col + i) + row, col + i < n ? k - row : 0);
      transpose(square);
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLane; ++i) _mm512_storeu_si512(strip + (row / 2 + i) * kStripRow, square[i]);
    }
  }
}

}  // namespace

void copy_in_pairs(Rows<const Bf16> b, bool transposed, int64_t k, int64_t n, Bf16* to) {
  transposed ? pair_cols(b, k, n, to) : pair_rows(b, k, n, to);
}

void copy_transposed(Rows<const Bf16> a, int64_t m, int64_t k, Bf16* to) {
  const int64_t stride = filled_up(k, kPairedRows);
  for (int64_t row = 0; row < k; row += kNumbers) {
    for (int64_t col = 0; col < m; col += kNumbers) {
      Square left, right;
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLane; ++i) {
        const int64_t first = row + 2 * i;
        const Sides sides = two_rows(a, k, m, first, col);
        left[i] = sides.first;
        right[i] = sides.last;
        if (first + kNumbers + 1 < k) {
          __builtin_prefetch(a.at(first + kNumbers) + col);
          __builtin_prefetch(a.at(first + kNumbers + 1) + col);
        }
      }
      transpose(left);
      transpose(right);
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLane; ++i) {
        _mm512_storeu_si512(to + (col + i) * stride + row, left[i]);
        _mm512_storeu_si512(to + (col + kLane + i) * stride + row, right[i]);
      }
    }
  }
}

}  // namespace shardlens::cpu
