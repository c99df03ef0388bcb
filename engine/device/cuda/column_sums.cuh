// Sums over the rows of a matrix, column by column, without atomics. The order depends only on the number of
// rows. First a block sums a chunk of rows for a strip of columns, 8 rows at a time. Each row belongs to a
// warp, and each of its threads has a pack of columns. Then a second kernel adds the chunks in order.
#pragma once

#include <algorithm>

#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

inline constexpr int kSumRows = 8;  // of a block at a time, one for each warp
template <class S>
inline constexpr int64_t kSumColumns = 32 * kLanes<S>;  // of a block

/// The destination of each term's sums, [cols].
template <class T, int kTerms>
struct SumsOf {
  T* term[kTerms];
};

/// sums += the terms of every kSumRows-th row of [row, bottom), one row after the other. With kWhole the
/// packs of several rows are loaded together.
template <class S, int kTerms, bool kWhole, class Term>
__device__ __forceinline__ void sum_rows(const Term& term, int64_t row, int64_t bottom, int64_t col,
                                         int64_t count, Computed<S> (&sums)[kTerms][kLanes<S>]) {
  using T = Computed<S>;
  const auto add = [&](const T(&terms)[kTerms][kLanes<S>]) {
#pragma unroll
    for (int t = 0; t < kTerms; ++t)
#pragma unroll
      for (int i = 0; i < kLanes<S>; ++i) sums[t][i] += terms[t][i];
  };
  if constexpr (kWhole) {
    constexpr int kAtOnce = 4;
    for (; row + (kAtOnce - 1) * kSumRows < bottom; row += kAtOnce * kSumRows) {
      T terms[kAtOnce][kTerms][kLanes<S>];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) term.template get<kWhole>(row + k * kSumRows, col, count, terms[k]);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) add(terms[k]);
    }
  }
  for (; row < bottom; row += kSumRows) {
    T terms[kTerms][kLanes<S>];
    term.template get<kWhole>(row, col, count, terms);
    add(terms);
  }
}

/// partial[chunk][term][col - first] = Σ over the chunk's rows of the terms of (row, col), for `width`
/// columns from `first` on. term.get() gives kTerms packs for the columns from col on, of which `count`
/// exist. If a term's rows are `aligned`, all of its packs are whole.
template <class S, int kTerms, class Term>
__global__ void __launch_bounds__(32 * kSumRows, 1)
    chunk_sums_kernel(RowSums cut, int64_t strips, int64_t first, int64_t width, Term term,
                      Computed<S>* partial) {
  using T = Computed<S>;
  __shared__ T shared[kSumRows][kSumColumns<S>];
  const int64_t chunk = blockIdx.x / strips, strip = blockIdx.x % strips;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t col = strip * kSumColumns<S> + lane * kLanes<S>;  // from `first` on
  const int64_t top = chunk * cut.per_chunk();
  const int64_t bottom = top + cut.per_chunk() < cut.rows ? top + cut.per_chunk() : cut.rows;
  T sums[kTerms][kLanes<S>] = {};
  if (col < width) {
    if (term.aligned)
      sum_rows<S, kTerms, true>(term, top + warp, bottom, first + col, width - col, sums);
    else
      sum_rows<S, kTerms, false>(term, top + warp, bottom, first + col, width - col, sums);
  }
#pragma unroll
  for (int t = 0; t < kTerms; ++t) {
    __syncthreads();  // the previous term has been read
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) shared[warp][lane * kLanes<S> + i] = sums[t][i];
    __syncthreads();
    for (int64_t i = threadIdx.x; i < kSumColumns<S>; i += 32 * kSumRows) {
      const int64_t at = strip * kSumColumns<S> + i;
      if (at >= width) break;
      T total = shared[0][i];
      for (int row = 1; row < kSumRows; ++row) total += shared[row][i];
      partial[(chunk * kTerms + t) * width + at] = total;
    }
  }
}

/// Writes the sums of the chunks, in order, to sums[term][first + col], or adds them. Many are loaded
/// together, because a thread has nothing else to do while it waits.
template <class T, int kTerms>
__global__ void add_chunks_kernel(int64_t chunks, int64_t first, int64_t width, const T* partial,
                                  SumsOf<T, kTerms> sums, bool accumulate) {
  const int64_t index = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= kTerms * width) return;
  const int64_t term = index / width, col = index % width;
  T* sum = (kTerms == 1 || term == 0 ? sums.term[0] : sums.term[kTerms - 1]) + first + col;
  T total = accumulate ? *sum : T(0);
  constexpr int kAtOnce = 16;
  const int64_t stride = kTerms * width;
  const T* at = partial + term * width + col;
  int64_t left = chunks;
  for (; left >= kAtOnce; left -= kAtOnce, at += kAtOnce * stride) {
    T part[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) part[k] = at[k * stride];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) total += part[k];
  }
  for (; left > 0; --left, at += stride) total += *at;
  *sum = total;
}

/// sums[t][cols] = (accumulate ? sums[t] : 0) + Σ over rows of term t. If the scratch is too small for all
/// columns, they are taken in parts, which changes no bit.
template <class S, int kTerms, class Term>
void column_sums(const Operation& operation, int64_t rows, int64_t cols, const Term& term,
                 const SumsOf<Computed<S>, kTerms>& sums, bool accumulate) {
  static_assert(kTerms == 1 || kTerms == 2);
  using T = Computed<S>;
  const RowSums cut{rows};
  const int64_t chunks = cut.chunks();
  const auto scratch = static_cast<int64_t>(operation.scratch_bytes() / sizeof(T));
  const int64_t fit = scratch / (kTerms * std::max<int64_t>(chunks, 1)) / kSumColumns<S> * kSumColumns<S>;
  for (int64_t first = 0; first < cols; first += fit) {
    const int64_t width = std::min(fit, cols - first), strips = pieces(width, kSumColumns<S>);
    operation.launch(chunk_sums_kernel<S, kTerms, Term>, chunks * strips, 32 * kSumRows, 0, cut, strips,
                     first, width, term, operation.scratch<T>());
    constexpr int kThreads = 256;
    operation.launch(add_chunks_kernel<T, kTerms>, pieces(kTerms * width, kThreads), kThreads, 0, chunks,
                     first, width, operation.scratch<T>(), sums, accumulate);
  }
}

}  // namespace shardlens::cuda
