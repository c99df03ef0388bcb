// Attention over one rank's heads, forward and backward, one (sequence, head) pair at a time: products on
// blocks of query rows, skipping what lies wholly above the causal diagonal. A head is computed by the same
// calls whichever other heads the rank holds, so a head's bits do not depend on T.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens {

namespace {

// Query rows (forward, dQ) or key rows (dK, dV) of one product: small enough to skip most of a causal
// triangle.
constexpr int64_t kBlockRows = 64;

// Threads that may share the backward pass: each needs a block of dP of its own.
constexpr int kMaxTeam = 8;

}  // namespace

int64_t attention_workspace_elements(int64_t seq) {
  return kMaxTeam * kBlockRows * seq;
}

namespace cpu {

namespace {

/// The score of a key nobody may see. Finite, so that a row of nothing else becomes uniform and not NaN.
template <class T>
constexpr T kHidden = T(-1e30);

/// scores[0, valid) -> softmax(scale·scores); [valid, seq) -> 0. Whole vectors; missing lanes count as
/// masked.
template <class T>
void softmax_row(T* scores, int64_t valid, int64_t seq, T scale) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  Vector<T> largest = Vector<T>{} + kLowest;
  for (int64_t i = 0; i < valid; i += kLanes<T>) {
    const Vector<T> v = load_part(scores + i, std::min(kLanes<T>, valid - i), kLowest);
    largest = v > largest ? v : largest;
  }
  const T top = max_lanes<T>(largest) * scale;
  Vector<T> sums{};
  for (int64_t i = 0; i < valid; i += kLanes<T>) {
    const int64_t n = std::min(kLanes<T>, valid - i);
    const Vector<T> e = exp<T>(load_part(scores + i, n, kLowest) * scale - top);
    sums += e;
    store_part<T>(scores + i, e, n);
  }
  const T inverse = T(1) / sum_lanes<T>(sums);
  for (int64_t i = 0; i < valid; ++i) scores[i] *= inverse;
  std::fill(scores + valid, scores + seq, T(0));
}

/// probs[0, valid) -> dS = probs·(dprobs − delta)·scale.
template <class T>
void softmax_grad_row(T* probs, const T* dprobs, int64_t valid, T delta, T scale) {
  for (int64_t i = 0; i < valid; ++i) probs[i] = probs[i] * (dprobs[i] - delta) * scale;
}

template <class T>
T dot(const T* a, const T* b, int64_t count) {
  Vector<T> total{};
  for (int64_t i = 0; i < count; i += kLanes<T>) {
    const int64_t n = std::min(kLanes<T>, count - i);
    total += load_part(a + i, n, T(0)) * load_part(b + i, n, T(0));
  }
  return sum_lanes<T>(total);
}

/// The rows of a (sequence, head) pair in part `part` of a tensor [batch*seq, parts, heads, width].
template <class T>
Rows<T> pair_rows(const AttentionShape& shape, int64_t pair, T* tensor, int64_t parts, int64_t part,
                  int64_t width) {
  const int64_t stride = parts * shape.heads * width;
  const int64_t token = pair / shape.heads * shape.seq, head = pair % shape.heads;
  return {tensor + token * stride + (part * shape.heads + head) * width, stride};
}

template <class T>
Rows<const T> as_const(Rows<T> rows) {
  return {rows.first, rows.stride};
}

/// [0, seq) in equal blocks of at most kBlockRows.
std::vector<Range> blocks(int64_t seq) {
  const int count = static_cast<int>((seq + kBlockRows - 1) / kBlockRows);
  std::vector<Range> ranges;
  for (int block = 0; block < count; ++block) ranges.push_back(shard_range(seq, count, block));
  return ranges;
}

/// The matrices of one (sequence, head) pair, and what of them a block of rows meets.
template <class T>
struct Head {
  int64_t seq, width;
  bool causal;
  Rows<const T> q, k, v;
  Rows<T> probs;
  const int32_t* mask = nullptr;  // of the sequence's keys; null: all may be seen

  Head(const AttentionShape& shape, int64_t pair, const void* qkv, void* probs_tensor)
      : seq(shape.seq), width(shape.head_dim), causal(shape.causal) {
    const T* in = static_cast<const T*>(qkv);
    q = pair_rows(shape, pair, in, 3, 0, width);
    k = pair_rows(shape, pair, in, 3, 1, width);
    v = pair_rows(shape, pair, in, 3, 2, width);
    probs = pair_rows(shape, pair, static_cast<T*>(probs_tensor), 1, 0, seq);
    if (shape.mask != nullptr) mask = shape.mask + pair / shape.heads * shape.seq;
  }
  /// Keys that `query` sees: the first ones.
  int64_t keys_of(int64_t query) const { return causal ? query + 1 : seq; }
  /// The first of the queries that see `key`: all from there on do.
  int64_t first_query_of(int64_t key) const { return causal ? key : 0; }
};

template <class T>
void forward_head(const Head<T>& head, Rows<T> context, T scale) {
  const auto& [seq, width, causal, q, k, v, probs, mask] = head;
  for (const Range queries : blocks(seq)) {
    const int64_t rows = queries.size(), keys = head.keys_of(queries.end - 1);
    const Rows<T> scores = probs.from(queries.begin);
    multiply(Product<T>{.transpose_b = true,
                        .m = rows,
                        .n = keys,
                        .k = width,
                        .a = q.from(queries.begin),
                        .b = k,
                        .c = scores});
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t key = 0; mask != nullptr && key < keys; ++key)
        if (mask[key] == 0) scores.at(row)[key] = kHidden<T>;
      softmax_row<T>(scores.at(row), head.keys_of(queries.begin + row), seq, scale);
    }
    multiply(Product<T>{
        .m = rows, .n = width, .k = keys, .a = as_const(scores), .b = v, .c = context.from(queries.begin)});
  }
}

/// out[keys, width] = probsᵀ·in, by blocks of keys: dV from P and dC, dK from dS and Q.
template <class T>
void transposed_product(const Head<T>& head, Rows<const T> in, Rows<T> out) {
  for (const Range keys : blocks(head.seq)) {
    const int64_t query = head.first_query_of(keys.begin);
    multiply(Product<T>{.transpose_a = true,
                        .m = keys.size(),
                        .n = head.width,
                        .k = head.seq - query,
                        .a = as_const(head.probs.from(query, keys.begin)),
                        .b = in.from(query),
                        .c = out.from(keys.begin)});
  }
}

/// What the backward pass of one head reads and writes beside Head: [seq, width] each.
template <class T>
struct HeadGradient {
  Rows<const T> context, dcontext;
  Rows<T> dq, dk, dv;
};

/// P is replaced by dS = P∘(dP − rowsum(dC∘C))·scale with dP = dC·Vᵀ, of which `dprobs` holds block_rows
/// rows.
template <class T>
void backward_head(const Head<T>& head, const HeadGradient<T>& gradient, T scale, T* dprobs) {
  const auto& [seq, width, causal, q, k, v, probs, mask] = head;
  const auto& [context, dcontext, dq, dk, dv] = gradient;
  transposed_product(head, dcontext, dv);
  for (const Range queries : blocks(seq)) {
    const int64_t rows = queries.size(), keys = head.keys_of(queries.end - 1);
    const Rows<T> scores = probs.from(queries.begin), dscores{dprobs, seq};
    const Rows<const T> dc = dcontext.from(queries.begin), c = context.from(queries.begin);
    multiply(
        Product<T>{.transpose_b = true, .m = rows, .n = keys, .k = width, .a = dc, .b = v, .c = dscores});
    for (int64_t row = 0; row < rows; ++row)
      softmax_grad_row<T>(scores.at(row), dscores.at(row), head.keys_of(queries.begin + row),
                          dot<T>(dc.at(row), c.at(row), width), scale);
    multiply(Product<T>{
        .m = rows, .n = width, .k = keys, .a = as_const(scores), .b = k, .c = dq.from(queries.begin)});
  }
  transposed_product(head, q, dk);
}

}  // namespace

void CpuDevice::attention(const AttentionShape& shape, const void* qkv, void* probs, void* context) {
  with_element_type(shape.dtype, "attention", [&](auto zero) {
    using T = decltype(zero);
    const T scale = T(1) / std::sqrt(static_cast<T>(shape.head_dim));
    parallel_for(threads_, shape.batch * shape.heads, [&](int64_t pair) {
      forward_head(Head<T>(shape, pair, qkv, probs),
                   pair_rows(shape, pair, static_cast<T*>(context), 1, 0, shape.head_dim), scale);
    });
  });
}

void CpuDevice::attention_grad(const AttentionShape& shape, const void* qkv, void* probs, const void* context,
                               const void* dcontext, void* dqkv, void* workspace) {
  with_element_type(shape.dtype, "the gradient of attention", [&](auto zero) {
    using T = decltype(zero);
    const T scale = T(1) / std::sqrt(static_cast<T>(shape.head_dim));
    const int64_t pairs = shape.batch * shape.heads;
    const int team =
        static_cast<int>(std::min({int64_t{threads_}, int64_t{kMaxTeam}, std::max<int64_t>(pairs, 1)}));
    parallel_for(team, team, [&](int64_t member) {
      T* dprobs = static_cast<T*>(workspace) + member * kBlockRows * shape.seq;
      const Range own = shard_range(pairs, team, static_cast<int>(member));
      for (int64_t pair = own.begin; pair < own.end; ++pair) {
        const auto rows = [&](auto* tensor, int64_t parts, int64_t part) {
          return pair_rows(shape, pair, tensor, parts, part, shape.head_dim);
        };
        T* out = static_cast<T*>(dqkv);
        const HeadGradient<T> gradient{rows(static_cast<const T*>(context), 1, 0),
                                       rows(static_cast<const T*>(dcontext), 1, 0), rows(out, 3, 0),
                                       rows(out, 3, 1), rows(out, 3, 2)};
        backward_head(Head<T>(shape, pair, qkv, probs), gradient, scale, dprobs);
      }
    });
  });
}

}  // namespace cpu

}  // namespace shardlens
