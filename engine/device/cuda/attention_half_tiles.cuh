// Shared by attention's kernels on the matrix units, in 16 bits: what they are asked for, exponentials, and
// the way of a block's rows from and to memory. A block of four warps takes 64 or 128 rows; each warp has 16
// or 32 of them, with their results in registers. The other side comes into shared memory, a tile at a time,
// and the next tiles are copied while the current ones are used. The rows are queries in the forward pass and
// for dQ, and keys for dK and dV, where the scores are transposed. So every product has one of the two forms
// in matrix_units.cuh, and there are no atomics.
//
// A warp of 32 rows loads what it needs of the other side once for two products. With 16 rows the kernels
// are bound by the loads from shared memory. attention_rows.h chooses. A row's sums have the same order in
// both, so its bits are the same.
//
// Products are summed in fp32 and softmax is fp32. The matrix units' operands P and dS are rounded to the
// run's format. The CPU does not do this; the difference is a few units in the last place.
#pragma once

#include "engine/device/cuda/attention.cuh"
#include "engine/device/cuda/attention_rows.h"
#include "engine/device/cuda/matrix_units.cuh"

namespace shardlens::cuda {

inline constexpr int kHalfWarps = AttentionRows::kWarps;
inline constexpr int kHalfThreads = 32 * kHalfWarps;
/// Of a block whose warps have 16 · kTiles rows each.
template <int kTiles>
inline constexpr int kHalfRows = 16 * kTiles* kHalfWarps;
inline constexpr float kHiddenScore = -1e30f;  // of a key that no query may see, as in attention_tiles.cuh

/// The argument of a kernel. A kPlain kernel is compiled for calls without dropout, mask and stored P, such
/// as a GPT's calls that compute P again. Its loops have no branches for them.
template <class T, bool kPlain>
struct Asked : AttentionView<T> {
  using S = T;
  static constexpr bool kIsPlain = kPlain;

  __device__ __forceinline__ bool drops() const { return !kPlain && this->has_dropout; }
  __device__ __forceinline__ bool masks() const { return !kPlain && this->mask != nullptr; }
  __device__ __forceinline__ bool keeps() const { return !kPlain && this->probs != nullptr; }

  __device__ __forceinline__ FirstKeys first_keys(int64_t sequence) const {
    return masks() ? AttentionView<T>::first_keys(sequence) : FirstKeys{};
  }

  /// seen() in 32 bits. They hold every position in a sequence, because positions are stored in 32 bits.
  __device__ __forceinline__ int seen_by(int position) const {
    return static_cast<int>(this->seen(position));
  }
};

/// Calls body(Asked) with `a` for the simplest kernels that can compute it.
template <class S, class Body>
void with_asked(const AttentionView<S>& a, Body&& body) {
  if (a.has_dropout || a.mask != nullptr || a.probs != nullptr) return body(Asked<S, false>{a});
  body(Asked<S, true>{a});
}

/// Calls body(std::integral_constant<int, width>) with the smallest tile width that holds a head. The paper's
/// models have heads of 96.
template <class Body>
void with_half_width(int64_t head_dim, Body&& body) {
  if (head_dim <= 64) return body(std::integral_constant<int, 64>{});
  if (head_dim <= 96) return body(std::integral_constant<int, 96>{});
  return body(std::integral_constant<int, 128>{});
}

/// exp(scale · score − top), computed as 2^(in_base_2(scale) · score − in_base_2(top)): one fma and one
/// instruction. For a hidden key that difference would only be rounding noise of numbers near 1e30, so the
/// result is set: 1 in a row with only hidden keys, and 0 in other rows. `scale` and `top` are in base 2.
__device__ __forceinline__ float in_base_2(float exponent) {
  return times(exponent, 1.44269504f);
}
template <class A>
__device__ __forceinline__ float exponential(const A& a, float scale, float score, float top) {
  if (a.masks() && score == kHiddenScore) return top == in_base_2(times(kHiddenScore, a.scale)) ? 1.0f : 0.0f;
  return power_of_2(fma(score, scale, -top));
}

/// score_gradient() of formulas.h with a scaled delta. It needs fewer instructions.
__device__ __forceinline__ float scaled_gradient(float prob, float used, float dprob, float scaled_delta,
                                                 float scale, bool has_dropout) {
  return has_dropout ? fma(used, times(dprob, scale), -times(prob, scaled_delta))
                     : times(prob, fma(dprob, scale, -scaled_delta));
}

/// P of one element: stored, or computed again from its score. For a key that the query does not see the
/// result has no meaning.
template <class A>
__device__ __forceinline__ float probability_of(const A& a, int64_t sequence, int64_t head, int query,
                                                int seen, int key, float scale, float score, float top,
                                                float inverse) {
  if (a.keeps())
    return key < seen ? widen(a.probs[((sequence * a.seq + query) * a.heads + head) * a.room + key]) : 0.0f;
  const bool hidden = a.masks() && key < seen && a.mask[sequence * a.room + key] == 0;
  return exponential(a, scale, hidden ? kHiddenScore : score, top) * inverse;
}

/// P∘M of one element.
template <class A>
__device__ __forceinline__ float used_of(const A& a, MaskReader& mask, int64_t sequence, int64_t head,
                                         int query, int key, float prob) {
  if (!a.drops()) return prob;
  return mask.drops(a.first_draw(sequence, head, query) + key) ? 0.0f
                                                               : prob * static_cast<float>(a.dropping.scale);
}

/// The first of the block's rows that the thread's warp has.
template <int kTiles>
__device__ __forceinline__ int first_row_of_warp() {
  return __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / 32, 0) * 16 * kTiles;
}

/// A thread's part of the copies of a head's rows [first, first + count) to tiles in shared memory: one pack
/// of each 8 or 16 rows. Elements that do not exist become 0.
template <class S, int kWidth>
class RowCopies {
 public:
  __device__ __forceinline__ RowCopies(const HeadRows<const S>& rows, int64_t first, int count, int64_t head,
                                       int64_t head_dim)
      : stride_(rows.stride) {
    const int row = static_cast<int>(threadIdx.x) / kPacks;
    const int col = static_cast<int>(threadIdx.x) % kPacks * kLanes<S>;
    from_ = rows.at(first + row, head, head_dim) + col;
    there_ = col < head_dim ? count - row : 0;
    to_ = row < kTogether ? row * kRowStride<kWidth> + col : kNone;
  }

  /// Starts the copies of kRows rows from row `row` on, or of those that are `further` elements behind them.
  template <int kRows>
  __device__ __forceinline__ void ask(int row, S* tile, int64_t further = 0) const {
    static_assert(kRows % kTogether == 0);
    if (to_ == kNone) return;
    const S* from = from_ + (row * stride_ + further);
    S* to = tile + to_;
#pragma unroll
    for (int i = 0; i < kRows; i += kTogether) {
      ask_for_copy<16>(to + i * kRowStride<kWidth>, from, row + i < there_);
      from += kTogether * stride_;
    }
  }

 private:
  static constexpr int kPacks = kWidth / kLanes<S>, kTogether = kPacks <= 8 ? 16 : 8;  // rows at a time
  static constexpr int kNone = -1;
  static_assert(kPacks * kTogether <= kHalfThreads);

  const S* from_;
  int64_t stride_;
  int there_, to_;  // rows from the thread's first one on; the place of its pack in a tile
};

/// The same for rows that are copied once.
template <class S, int kWidth, int kRows>
__device__ __forceinline__ void ask_for_rows(const HeadRows<const S>& rows, int64_t first, int count,
                                             int64_t head, int64_t head_dim, S* tile) {
  RowCopies<S, kWidth>(rows, first, count, head, head_dim).template ask<kRows>(0, tile);
}

/// Stores a warp's rows of a result [count, head_dim], from row `row` on, in pairs of elements. The rows
/// begin at multiples of 16 bytes.
template <class S, int kWidth, int kTiles>
__device__ __forceinline__ void store_result(const float (&result)[kTiles][kWidth / 8][4],
                                             const float (&factor)[kTiles][2], const HeadRows<S>& rows,
                                             int64_t first, int row, int count, int64_t head,
                                             int64_t head_dim) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const FragmentPlace place = result_place(lane, 2 * half);
      const int at = row + 16 * tile + place.row;
      if (at >= count) continue;
      S* out = rows.at(first + at, head, head_dim) + place.col;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n) {
        if (n * 8 >= head_dim) continue;
        *reinterpret_cast<uint32_t*>(out + n * 8) =
            pack_pair<S>(result[tile][n][2 * half] * factor[tile][half],
                         result[tile][n][2 * half + 1] * factor[tile][half]);
      }
    }
}

/// The queries of a block.
struct BlockQueries {
  TilePlace at;
  int query, rows;  // the first one in its sequence, and how many there are
  int64_t token;    // of the first one

  template <int kTiles, class A>
  __device__ __forceinline__ static BlockQueries of(const A& a, uint32_t block, int64_t tiles) {
    const TilePlace at(block, a.batch, a.heads, tiles, a.causal);
    const int query = at.tile * kHalfRows<kTiles>, left = static_cast<int>(a.seq) - query;
    return {at, query, left < kHalfRows<kTiles> ? left : kHalfRows<kTiles>, at.sequence * a.seq + query};
  }
};

/// The queries of a warp for which a lane has elements, two in each 16 rows, and the keys that they see.
template <int kTiles>
struct OwnQueries {
  int query[kTiles][2], seen[kTiles][2];  // seen: the number of keys; 0 if the query does not exist
  int all_see, end;  // all of the warp's queries see the keys before all_see, none sees `end` or later ones

  /// The warp's first query is `first_row`, and the position of the sequence's first query is `first`.
  template <class A>
  __device__ __forceinline__ OwnQueries(const A& a, int first_row, int first) {
    const int lane = static_cast<int>(threadIdx.x) % 32, seq = static_cast<int>(a.seq);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        query[tile][half] = first_row + 16 * tile + result_place(lane, 2 * half).row;
        seen[tile][half] = query[tile][half] < seq ? a.seen_by(first + query[tile][half]) : 0;
      }
    const int end_row = first_row + 16 * kTiles < seq ? first_row + 16 * kTiles : seq;
    all_see = a.seen_by(first + first_row);
    end = first_row < end_row ? a.seen_by(first + end_row - 1) : 0;
  }
};

}  // namespace shardlens::cuda
