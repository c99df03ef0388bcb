// What the kernels of attention share: where a (sequence, head) pair's matrices lie, and which draws are its.
#pragma once

#include "engine/device/cuda/formulas.h"
#include "engine/device/cuda/operation.cuh"
#include "engine/device/cuda/random.h"

namespace shardlens::cuda {

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

/// The product alone, never part of a fused operation: a hidden key's score is so large that its row's
/// largest score must be the same product to the bit, or their difference is not 0.
__device__ __forceinline__ float times(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double times(double a, double b) {
  return __dmul_rn(a, b);
}

/// One call's attention: [batch, seq] queries of `heads` heads against [batch, room] keys of keys.heads
/// heads. Without a cache `room` is `seq`.
template <class S>
struct AttentionView {
  int64_t batch = 0, seq = 0, room = 0, heads = 0, head_dim = 0;
  KeyHeads keys;
  bool causal = false;
  Computed<S> scale = 0;
  const int32_t* mask = nullptr;       // [batch * room], 0 at keys nobody may see
  const int32_t* positions = nullptr;  // [batch * seq] of queries against a cache; null: none
  HeadRows<const S> q, k, v;

  bool has_dropout = false;
  Dropping dropping;
  int64_t all_heads = 0, first_head = 0, first_token = 0;  // where P lies in the whole, for its draws

  S* probs = nullptr;           // [batch*seq, heads, room]; null: P is not kept
  Computed<S>* kept = nullptr;  // [batch*seq, heads, 2], top and 1/Σ; null: P is

  /// Where a sequence's first query stands among its keys. A wrong position is reported by
  /// check_positions(); here it only must not lead out of the cache.
  __device__ __forceinline__ int64_t first_position(int64_t sequence) const {
    if (positions == nullptr) return 0;
    const int64_t first = positions[sequence * seq];
    return first < 0 ? 0 : first > room - seq ? room - seq : first;
  }
  /// Keys that a query sees, the first ones.
  __device__ __forceinline__ int64_t seen(int64_t position) const { return causal ? position + 1 : room; }
  /// The element of the whole P at which the row of a query begins, for its draws.
  __device__ __forceinline__ int64_t first_draw(int64_t sequence, int64_t head, int64_t query) const {
    return ((first_token + sequence * seq + query) * all_heads + first_head + head) * room;
  }
};

/// What the backward pass reads and writes in addition to AttentionView.
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
