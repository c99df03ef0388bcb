// Shared by the kernels of attention: the places of a (sequence, head) pair's matrices, and its dropout
// draws.
#pragma once

#include <limits>

#include "engine/device/cuda/formulas.h"
#include "engine/device/cuda/operation.cuh"
#include "engine/device/cuda/random.h"

namespace shardlens::cuda {

template <class T>
inline constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

/// Rows [token, width] of one head in a tensor [tokens, parts, heads, width]: row t begins at first + head ·
/// width + t · stride.
template <class S>
struct HeadRows {
  S* first = nullptr;  // of head 0 in the part
  int64_t stride = 0;

  HeadRows() = default;
  HeadRows(S* tensor, int64_t parts, int64_t part, int64_t heads, int64_t width)
      : first(tensor + part * heads * width), stride(parts * heads * width) {}

  __device__ __forceinline__ S* at(int64_t token, int64_t head, int64_t width) const {
    return first + token * stride + head * width;
  }
};

/// A product that the compiler never fuses with another operation. A hidden key's score is so large that its
/// difference to the row's largest score is 0 only if both are the same product, to the bit.
__device__ __forceinline__ float times(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double times(double a, double b) {
  return __dmul_rn(a, b);
}

/// The first and the second key of a sequence that a query may see; beyond the last key if there is none.
struct FirstKeys {
  int first = 0, second = 1;

  /// True if exactly one of the first `seen` keys may be seen, or if there is only one. Its probability is 1,
  /// whatever its score, so dS is exactly 0. Computed, it would be the difference of two equal sums: noise.
  __device__ __forceinline__ bool are_one_of(int64_t seen) const {
    return seen == 1 || (first < seen && seen <= second);
  }
};

/// One call of attention, for kernels: [batch, seq] queries of `heads` heads against [batch, room] keys of
/// keys.heads heads. Without a cache `room` is `seq`.
template <class S>
struct AttentionView {
  int64_t batch = 0, seq = 0, room = 0, heads = 0, head_dim = 0;
  KeyHeads keys;
  bool causal = false;
  Computed<S> scale = 0;
  const int32_t* mask = nullptr;       // [batch * room], 0 at keys that no query may see
  const int32_t* positions = nullptr;  // [batch * seq] of queries against a cache; null: none
  HeadRows<const S> q, k, v;

  bool has_dropout = false;
  Dropping dropping;
  int64_t all_heads = 0, first_head = 0, first_token = 0;  // where P lies in the whole, for its draws

  S* probs = nullptr;           // [batch*seq, heads, room]; null: P is not kept
  Computed<S>* kept = nullptr;  // [batch*seq, heads, 2], top and 1/Σ; null: P is

  /// The position of a sequence's first query among its keys. check_positions() reports a wrong one; here it
  /// is clamped so that it stays in the cache.
  __device__ __forceinline__ int64_t first_position(int64_t sequence) const {
    if (positions == nullptr) return 0;
    const int64_t first = positions[sequence * seq];
    return first < 0 ? 0 : first > room - seq ? room - seq : first;
  }
  /// The number of keys that a query sees. They are the first ones.
  __device__ __forceinline__ int64_t seen(int64_t position) const { return causal ? position + 1 : room; }
  /// Reads the mask up to the second key that may be seen.
  __device__ __forceinline__ FirstKeys first_keys(int64_t sequence) const {
    if (mask == nullptr) return {};
    const int32_t* const may_be_seen = mask + sequence * room;
    const auto next = [&](int key) {
      while (key < room && may_be_seen[key] == 0) ++key;
      return key;
    };
    const int first = next(0);
    return {first, next(first + 1)};
  }
  /// The index of the first element of a query's row in the whole P, for its draws.
  __device__ __forceinline__ int64_t first_draw(int64_t sequence, int64_t head, int64_t query) const {
    return ((first_token + sequence * seq + query) * all_heads + first_head + head) * room;
  }
};

/// The tensors of the backward pass in addition to AttentionView's.
template <class S>
struct AttentionGradView {
  HeadRows<const S> dcontext;
  const Computed<S>* delta = nullptr;  // [batch*seq, heads], dC·C; times the scale on the matrix units
  HeadRows<S> dq, dk, dv;
};

template <class S>
AttentionView<S> view(const Attention& op) {
  using T = Computed<S>;
  AttentionView<S> a;
  a.batch = op.batch;
  a.seq = a.room = op.seq;
  a.heads = op.heads;
  a.head_dim = op.head_dim;
  a.causal = op.causal;
  a.scale = T(1) / std::sqrt(static_cast<T>(op.head_dim));
  a.mask = op.mask;
  const S* in = static_cast<const S*>(op.qkv);
  if (op.kv == nullptr) {
    a.keys = {op.heads, 1, 0};
    a.q = HeadRows<const S>(in, 3, 0, op.heads, op.head_dim);
    a.k = HeadRows<const S>(in, 3, 1, op.heads, op.head_dim);
    a.v = HeadRows<const S>(in, 3, 2, op.heads, op.head_dim);
  } else {
    a.keys = op.keys;
    const S* kv = static_cast<const S*>(op.kv);
    a.q = HeadRows<const S>(in, 1, 0, op.heads, op.head_dim);
    a.k = HeadRows<const S>(kv, 2, 0, op.keys.heads, op.head_dim);
    a.v = HeadRows<const S>(kv, 2, 1, op.keys.heads, op.head_dim);
  }
  a.has_dropout = op.dropout.probability > 0;
  if (a.has_dropout) a.dropping = Dropping(op.dropout);
  a.all_heads = op.all_heads;
  a.first_head = op.first_head;
  a.first_token = op.first_token;
  if (op.recompute)
    a.kept = static_cast<T*>(op.saved);
  else
    a.probs = static_cast<S*>(op.saved);
  return a;
}

}  // namespace shardlens::cuda
