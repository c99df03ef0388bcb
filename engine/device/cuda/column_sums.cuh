// Sums over the rows of a matrix, column by column. The order depends only on the number of rows. A block
// sums a chunk of rows for a strip of columns, 8 rows at a time. Each row belongs to a warp, and each of its
// threads has a pack of columns. The last block of a strip adds the strip's chunks in order, so one kernel is
// enough.
#pragma once

#include <algorithm>

#include "engine/device/cuda/last_block.cuh"
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

/// The sum of `chunks` numbers, `stride` apart, added to `total` in their order. Many are loaded together,
/// because a thread has nothing else to do while it waits.
template <class T>
__device__ __forceinline__ T add_chunks(T total, int64_t chunks, const T* at, int64_t stride) {
  constexpr int kAtOnce = 16;
  for (; chunks >= kAtOnce; chunks -= kAtOnce, at += kAtOnce * stride) {
    T part[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) part[k] = __ldcg(at + k * stride);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) total += part[k];
  }
  for (; chunks > 0; --chunks, at += stride) total += __ldcg(at);
  return total;
}

/// sums[term][first + col] = Σ over the chunks, in order, of the terms of (row, first + col), for `width`
/// columns, or added to it. partial[chunk][term][col] is between the two. term.get() gives kTerms packs for
/// the columns from col on, of which `count` exist. If a term's rows are `aligned`, all of its packs are
/// whole. Each strip has a ticket.
template <class S, int kTerms, class Term>
__global__ void __launch_bounds__(32 * kSumRows, 1)
    column_sums_kernel(RowSums cut, int64_t strips, int64_t first, int64_t width, Term term,
                       Computed<S>* partial, unsigned* tickets, SumsOf<Computed<S>, kTerms> out,
                       bool accumulate) {
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
  const int64_t chunks = cut.chunks();
  if (!is_last_block(tickets + strip, static_cast<unsigned>(chunks))) return;
  for (int64_t i = threadIdx.x; i < kSumColumns<S>; i += 32 * kSumRows) {
    const int64_t at = strip * kSumColumns<S> + i;
    if (at >= width) break;
#pragma unroll
    for (int t = 0; t < kTerms; ++t) {
      T* const sum = out.term[t] + first + at;
      *sum = add_chunks(accumulate ? *sum : T(0), chunks, partial + t * width + at, kTerms * width);
    }
  }
}

/// sums[t][cols] = (accumulate ? sums[t] : 0) + Σ over rows of term t. If the scratch or the tickets are too
/// few for all columns, they are taken in parts, which changes no bit.
template <class S, int kTerms, class Term>
void column_sums(const Operation& operation, int64_t rows, int64_t cols, const Term& term,
                 const SumsOf<Computed<S>, kTerms>& sums, bool accumulate) {
  using T = Computed<S>;
  const RowSums cut{rows};
  const auto scratch = static_cast<int64_t>(operation.scratch_bytes() / sizeof(T));
  const int64_t most_strips =
      std::min(scratch / (kTerms * cut.chunks()) / kSumColumns<S>, CudaDevice::kTickets);
  for (int64_t first = 0; first < cols; first += most_strips * kSumColumns<S>) {
    const int64_t width = std::min(most_strips * kSumColumns<S>, cols - first),
                  strips = pieces(width, kSumColumns<S>);
    operation.launch(column_sums_kernel<S, kTerms, Term>, cut.chunks() * strips, 32 * kSumRows, 0, cut,
                     strips, first, width, term, operation.scratch<T>(), operation.tickets(), sums,
                     accumulate);
  }
}

}  // namespace shardlens::cuda
