// Attention over one rank's heads, forward and backward, one (sequence, head) pair at a time. The forward
// pass stores P, or the backward pass computes it again from Q, K and two numbers for each row. It makes the
// same calls in the same order, so the bits are the same. Query heads may share a key head: all of them read
// it, and the backward pass adds up their parts of its gradient, one after the other.
#include <memory>

#include "engine/device/cpu/attention_head.h"
#include "engine/device/cpu/cpu_device.h"

namespace shardlens {
namespace cpu {

namespace {

template <class T>
T dot(const T* a, const T* b, int64_t count) {
  return sum_lanes<T>(fold_vectors<T>(count, Vector<T>{}, [&](Vector<T> total, int64_t i, auto n) {
    return total + load_part(a + i, n, T(0)) * load_part(b + i, n, T(0));
  }));
}

/// Room for copies of a head's matrices. 16-bit dtypes use the workspace. Other dtypes use most matrices in
/// place, and take room of the thread's own (2 MB at 1,024 tokens, which no plan counts).
template <class S, class T = Computed<S>>
T* room_for_matrices(const Attention& op, const Workspace<T>& workspace) {
  if constexpr (!std::is_same_v<S, T>) return workspace.matrices;
  static thread_local std::unique_ptr<T[]> room;
  static thread_local int64_t held = 0;
  const int64_t needed = kMatricesPerThread * op.seq * op.head_dim;
  if (needed > held) {
    room.reset();
    room = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(needed));
    held = needed;
  }
  return room.get();
}

/// The query heads that read key head `key`.
Range readers_of(const KeyHeads& keys, int64_t heads, int64_t key) {
  const int64_t begin = std::clamp<int64_t>(key * keys.group - keys.first, 0, heads);
  return {begin, std::clamp<int64_t>((key + 1) * keys.group - keys.first, begin, heads)};
}

/// The probabilities of a block of queries: stored by the forward pass, or computed again.
template <class S, class T>
Rows<T> probabilities(const Head<S>& head, Range queries, const Workspace<T>& workspace) {
  const int64_t keys = head.keys_of(queries.end - 1);
  const Rows<T> probs = head.block(queries, workspace);
  if (head.op.recompute) score_block(head, queries, probs);
  for (int64_t query = queries.begin; query < queries.end; ++query) {
    T* row = probs.at(query - queries.begin);
    if (head.op.recompute)
      softmax_row_again<T>(row, head.keys_of(query), keys, head.scale, *head.kept.at(query));
    else if constexpr (!std::is_same_v<S, T>)
      convert_row(head.probs.at(query), keys, row);
  }
  return probs;
}

/// The matrices that the backward pass of one head needs in addition to Head, [seq, width] each.
template <class T>
struct HeadGradient {
  Rows<const T> dcontext;
  Rows<T> dq, dk, dv;
};

/// The rows of P that have one entry. It is 1 whatever its score, so dS is exactly 0: computed, it would be
/// the difference of two equal sums, which is noise, and Adam makes whole steps of noise.
class SingleEntries {
 public:
  /// `mask` of the sequence's `keys` keys may be null.
  SingleEntries(const int32_t* mask, int64_t keys) {
    if (mask == nullptr) return;
    const auto next = [&](int64_t key) {
      while (key < keys && mask[key] == 0) ++key;
      return key;
    };
    first_ = next(0);
    second_ = next(first_ + 1);
  }
  /// True for a row that sees the first `seen` keys, without those that the mask hides.
  bool has(int64_t seen) const { return seen == 1 || (first_ < seen && seen <= second_); }

 private:
  int64_t first_ = 0, second_ = 1;  // the keys that may be seen; beyond the last key if there is none
};

/// Takes a block of queries at a time: dP = dC·Vᵀ, dV += (P∘M)ᵀ·dC, dS = P∘(M∘dP − rowsum(P∘M∘dP))·scale, dQ
/// = dS·K, dK += dSᵀ·Q. The sum over a row of dS is 0. It stays that small because the subtrahend is made of
/// the same dP: rowsum(dC∘C), which is equal in exact numbers, has rounding errors of its own, and a gradient
/// that should be 0 would be ten times as much noise.
template <class S, class T>
void backward_head(const Head<S>& head, const HeadGradient<T>& gradient, const Workspace<T>& workspace) {
  const int64_t seq = head.op.seq, width = head.op.head_dim;
  const SingleEntries single(head.mask, seq);
  for (const Range queries : query_blocks(seq)) {
    const int64_t rows = queries.size(), keys = head.keys_of(queries.end - 1);
    const Rows<T> probs = probabilities(head, queries, workspace);
    if (head.has_dropout()) drop_block(head, queries, as_const(probs), workspace.dropped);
    const Rows<T> used = head.has_dropout() ? workspace.dropped : probs;
    const Rows<const T> dc = gradient.dcontext.from(queries.begin);
    const Rows<T> dscores = workspace.dprobs;
    const auto add_to = [&](Rows<T> result, Rows<T> block, Rows<const T> in) {
      multiply(HeadProduct<T>{.a = {block.first, 1, block.stride}, .b = in, .c = result, .accumulate = true},
               keys, width, [&](Range of_keys) {
                 return Needed{width, {head.first_query_of(of_keys.begin, queries), rows}};
               });
    };
    add_to(gradient.dv, used, dc);
    multiply_by_keys(head, queries, dc, head.keys.turned_v, dscores);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t seen = head.keys_of(queries.begin + row);
      if (single.has(seen))
        std::fill_n(dscores.at(row), keys, T(0));
      else
        softmax_grad_row<T>(probs.at(row), head.has_dropout() ? used.at(row) : nullptr, dscores.at(row), seen,
                            keys, dot<T>(used.at(row), dscores.at(row), seen), head.scale);
    }
    multiply_over_keys(head, queries, as_const(dscores), head.keys.k, gradient.dq.from(queries.begin));
    add_to(gradient.dk, dscores, head.q.from(queries.begin));
  }
}

template <class T>
void set_to_zero(Rows<T> matrix, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) std::fill_n(matrix.at(row), width, T(0));
}

}  // namespace

void CpuDevice::attention(const Attention& op) {
  with_element_type(op.dtype, "attention", [&](auto zero) {
    using S = decltype(zero);
    const int threads = op.workspace == nullptr ? threads_ : std::min(threads_, kMaxTeam);
    const KeyHeads keys = keys_of(op);
    for_pairs(threads, op.batch * op.heads, [&](int64_t pair, int64_t member) {
      const Workspace<Computed<S>> own(op, member);
      const HeadPlace key_place(key_pair(keys, op.heads, pair), keys.heads, op.seq);
      Matrices<S> key_matrices(key_place, op.seq, op.head_dim, room_for_matrices<S>(op, own));
      auto read = keys_in<S>(op, key_matrices);
      read.turn_k(op.seq, op.head_dim);
      Matrices<S> matrices({pair, op.heads, op.seq}, op.seq, op.head_dim, key_matrices.rest());
      const Head<S> head(op, pair, matrices, read);
      const auto c = matrices.output(op.context, 1, 0);
      forward_head(head, c, own);
      matrices.store(c, op.context, 1, 0);
    });
  });
}

void CpuDevice::attention_grad(const AttentionGrad& grad) {
  const Attention& op = grad.forward;
  with_element_type(op.dtype, "the gradient of attention", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const KeyHeads keys = keys_of(op);
    const bool grouped = op.kv != nullptr;
    void* dkv = grouped ? grad.dkv : grad.dqkv;
    const int64_t kv_parts = grouped ? 2 : 3, k_part = grouped ? 0 : 1, q_parts = grouped ? 1 : 3;
    for_pairs(std::min(threads_, kMaxTeam), op.batch * keys.heads, [&](int64_t key, int64_t member) {
      const Workspace<T> own(op, member);
      Matrices<S> shared({key, keys.heads, op.seq}, op.seq, op.head_dim, room_for_matrices<S>(op, own));
      Keys<T> read = keys_in<S>(op, shared);
      if (op.recompute) read.turn_k(op.seq, op.head_dim);
      read.turn_v(op.seq, op.head_dim);
      const Rows<T> dk = shared.output(dkv, kv_parts, k_part), dv = shared.output(dkv, kv_parts, k_part + 1);
      set_to_zero(dk, op.seq, op.head_dim);
      set_to_zero(dv, op.seq, op.head_dim);
      const Range readers = readers_of(keys, op.heads, key % keys.heads);
      for (int64_t query = readers.begin; query < readers.end; ++query) {
        const int64_t pair = key / keys.heads * op.heads + query;
        Matrices<S> matrices({pair, op.heads, op.seq}, op.seq, op.head_dim, shared.rest());
        const Head<S> head(op, pair, matrices, read);
        const HeadGradient<T> gradient{matrices.input(grad.dcontext, 1, 0),
                                       matrices.output(grad.dqkv, q_parts, 0), dk, dv};
        backward_head(head, gradient, own);
        matrices.store(gradient.dq, grad.dqkv, q_parts, 0);
      }
      shared.store(dk, dkv, kv_parts, k_part);
      shared.store(dv, dkv, kv_parts, k_part + 1);
    });
  });
}

}  // namespace cpu

}  // namespace shardlens
