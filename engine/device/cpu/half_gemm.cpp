// C = op(A)·op(B) of 16-bit matrices, summed in fp32 and rounded once. If the processor has instructions for
// bf16, x86/bf16_gemm.cpp computes it. Otherwise A and B are widened, a panel at a time, into scratch that
// stays in cache, and multiplied in fp32. A sum is broken at multiples of the panels' depth, so an element's
// bits do not depend on the part of C that it is computed with.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "engine/device/cpu/bf16_gemm.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/gemv.h"
#include "engine/device/cpu/half_gemm.h"
#include "engine/device/cpu/one_row.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

// The size of a tile of C, and the terms that are summed at a time. The panels of A and B and the tile
// are 2.9 MB of fp32. op(B) is widened once for every kTileRows rows of C, which is cheap compared with the
// multiplications.
constexpr int64_t kTileRows = 384;
constexpr int64_t kTileCols = 768;
constexpr int64_t kDepth = 384;

/// One thread's scratch, kept from call to call.
struct Panels {
  std::vector<float> a = std::vector<float>(kTileRows * kDepth);
  std::vector<float> b = std::vector<float>(kDepth * kTileCols);
  std::vector<float> c = std::vector<float>(kTileRows * kTileCols);
};

/// Widens [rows, cols] of a stored matrix into `panel`.
template <class S>
Rows<const float> widen(Rows<const S> from, int64_t rows, int64_t cols, std::vector<float>& panel) {
  for (int64_t row = 0; row < rows; ++row) convert_row(from.at(row), cols, panel.data() + row * cols);
  return {panel.data(), cols};
}

/// Computes some columns of a C of one row.
template <class S, class Result>
void multiply_row_part(const Gemm& gemm, Range cols) {
  const Rows<const S> b{static_cast<const S*>(gemm.b), gemm.ldb};
  const Rows<const S> own = gemm.transpose_b ? b.from(cols.begin) : b.from(0, cols.begin);
  compute_row<S, Result>(gemm, cols, [&](const float* row, float* sums) {
    multiply_row<float, S>({row, own, sums}, gemm.transpose_b, cols.size(), gemm.k, true);
  });
}

template <class S, class Result>
void multiply_tile(const Gemm& gemm, Range rows, Range cols, Panels& panels) {
  const Rows<const S> a{static_cast<const S*>(gemm.a), gemm.lda}, b{static_cast<const S*>(gemm.b), gemm.ldb};
  const Rows<Result> c = Rows<Result>{static_cast<Result*>(gemm.c), gemm.ldc}.from(rows.begin, cols.begin);
  const int64_t m = rows.size(), n = cols.size();
  const Rows<float> sum{panels.c.data(), n};
  for (int64_t row = 0; row < m; ++row) begin_row<S>(gemm, c.at(row), cols, sum.at(row));
  for (int64_t begin = 0; begin < gemm.k; begin += kDepth) {
    const int64_t depth = std::min(kDepth, gemm.k - begin);
    Product<float> product{.transpose_a = gemm.transpose_a,
                           .transpose_b = gemm.transpose_b,
                           .m = m,
                           .n = n,
                           .k = depth,
                           .a = {},
                           .b = {},
                           .c = sum,
                           .accumulate = true};
    product.a = gemm.transpose_a ? widen(a.from(begin, rows.begin), depth, m, panels.a)
                                 : widen(a.from(rows.begin, begin), m, depth, panels.a);
    product.b = gemm.transpose_b ? widen(b.from(cols.begin, begin), n, depth, panels.b)
                                 : widen(b.from(begin, cols.begin), depth, n, panels.b);
    multiply(product);
  }
  for (int64_t row = 0; row < m; ++row) convert_row(sum.at(row), n, c.at(row));
}

template <class S, class Result>
void multiply_tiles(const Gemm& gemm, int threads) {
  if (is_one_row(gemm))
    return parallel_for(threads, threads, [&](int64_t part) {
      multiply_row_part<S, Result>(gemm, shard_range(gemm.n, threads, static_cast<int>(part)));
    });
  const int64_t row_tiles = (gemm.m + kTileRows - 1) / kTileRows;
  const int64_t col_tiles = (gemm.n + kTileCols - 1) / kTileCols;
  parallel_for(threads, row_tiles * col_tiles, [&](int64_t tile) {
    static thread_local Panels panels;
    const int64_t row = tile / col_tiles * kTileRows, col = tile % col_tiles * kTileCols;
    multiply_tile<S, Result>(gemm, {row, std::min(gemm.m, row + kTileRows)},
                             {col, std::min(gemm.n, col + kTileCols)}, panels);
  });
}

template <class S>
void multiply_half(const Gemm& gemm, int threads) {
  gemm.wide_result ? multiply_tiles<S, float>(gemm, threads) : multiply_tiles<S, S>(gemm, threads);
}

}  // namespace

void half_gemm(const Gemm& gemm, int threads) {
  const bool is_empty = gemm.m == 0 || gemm.n == 0 || gemm.k == 0;
  if (gemm.dtype == DType::Bf16 && !is_one_row(gemm) && !is_empty && has_bf16_instructions())
    return bf16_gemm(gemm, threads);
  gemm.dtype == DType::Bf16 ? multiply_half<Bf16>(gemm, threads) : multiply_half<Fp16>(gemm, threads);
}

}  // namespace shardlens::cpu
