// One (sequence, head) pair of attention on the CPU, and its forward pass. It takes one block of query rows
// at a time and skips what is wholly above the causal diagonal. The calls for a head do not depend on the
// rank's other heads, so its bits do not depend on T. With a cache there are more keys than queries: the
// queries are the last ones, and the forward pass is the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "engine/device/cpu/dropout_mask.h"
#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/head_product.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/softmax_rows.h"
#include "engine/device/cpu/vector.h"
#include "engine/device/device.h"

namespace shardlens::cpu {

// Query rows of a block: their P stays in the processor's cache.
inline constexpr int64_t kBlockRows = 64;

// The most threads in a pass that needs workspace. Each thread has its own blocks: for P, P with dropout, and
// dP.
inline constexpr int kMaxTeam = 8;
inline constexpr int64_t kBlocksPerThread = 3;

// A head's matrices in fp32, for a 16-bit dtype: Q, K, V, C, dC, dQ, dK, dV.
inline constexpr int64_t kMatricesPerThread = 8;

// If rows are a multiple of 2 KiB apart, a column uses few sets of the first cache, too few for a product.
// Attention also reads its blocks by columns.
template <class T>
bool is_aliased(int64_t stride) {
  return stride * static_cast<int64_t>(sizeof(T)) % 2048 == 0;
}

/// The row stride of a block, in numbers.
inline int64_t block_stride(int64_t seq) {
  constexpr int64_t kLine = 16;
  return is_aliased<float>(seq) ? seq + kLine : seq;
}

inline int64_t elements_per_thread(DType dtype, int64_t seq, int64_t head_dim) {
  return kBlocksPerThread * kBlockRows * block_stride(seq) +
         (is_half(dtype) ? kMatricesPerThread * seq * head_dim : 0);
}

/// The score of a key that no query may see. It is finite, so that a row with only such keys becomes uniform
/// and not NaN.
template <class T>
constexpr T kHidden = T(-1e30);

/// The place of one head of one sequence in a tensor [tokens, parts, heads, width].
struct HeadPlace {
  int64_t first_token = 0, head = 0, heads = 0;

  HeadPlace(int64_t pair, int64_t all, int64_t seq)
      : first_token(pair / all * seq), head(pair % all), heads(all) {}

  /// The head's rows in part `part`.
  template <class T>
  Rows<T> rows(T* tensor, int64_t parts, int64_t part, int64_t width) const {
    const int64_t stride = parts * heads * width;
    return {tensor + first_token * stride + (part * heads + head) * width, stride};
  }
};

/// The key heads that the query heads read: their own if queries are not grouped.
inline KeyHeads keys_of(const Attention& op) {
  return op.kv == nullptr ? KeyHeads{op.heads, 1, 0} : op.keys;
}

/// The (sequence, key head) pair that a (sequence, query head) pair reads.
inline int64_t key_pair(const KeyHeads& keys, int64_t heads, int64_t pair) {
  return pair / heads * keys.heads + (keys.first + pair % heads) / keys.group;
}

template <class T>
Rows<const T> as_const(Rows<T> rows) {
  return {rows.first, rows.stride};
}

/// [0, seq) in equal blocks of at most kBlockRows.
inline std::vector<Range> query_blocks(int64_t seq) {
  const int count = static_cast<int>((seq + kBlockRows - 1) / kBlockRows);
  std::vector<Range> ranges;
  for (int block = 0; block < count; ++block) ranges.push_back(shard_range(seq, count, block));
  return ranges;
}

/// One thread's part of the workspace: blocks [kBlockRows, seq] with row stride block_stride(seq), and room
/// for matrices [seq, head_dim].
template <class T>
struct Workspace {
  Rows<T> probs, dropped, dprobs;
  T* matrices = nullptr;

  Workspace(const Attention& op, int64_t member) {
    if (op.workspace == nullptr) return;
    T* first = static_cast<T*>(op.workspace) + member * elements_per_thread(op.dtype, op.seq, op.head_dim);
    const int64_t stride = block_stride(op.seq), block = kBlockRows * stride;
    probs = {first, stride};
    dropped = {first + block, stride};
    dprobs = {first + 2 * block, stride};
    matrices = first + kBlocksPerThread * block;
  }
};

/// The matrices [rows, head_dim] of one head of one sequence, ready to compute with: in place, or as copies
/// in `room`. A 16-bit dtype needs `room`. Other dtypes may have it, for rows whose stride is aliased (such
/// as that of 8 or 16 heads of 64).
template <class S, class T = Computed<S>>
class Matrices {
 public:
  Matrices(HeadPlace place, int64_t rows, int64_t head_dim, T* room)
      : place_(place), rows_(rows), head_dim_(head_dim), next_(room) {}

  Rows<const T> input(const void* tensor, int64_t parts, int64_t part) {
    const Rows<const S> stored = at(static_cast<const S*>(tensor), parts, part);
    if constexpr (std::is_same_v<S, T>)
      if (stays(stored.stride)) return stored;
    const Rows<T> copy = take();
    for (int64_t row = 0; row < rows_; ++row) convert_row(stored.at(row), head_dim_, copy.at(row));
    return as_const(copy);
  }
  Rows<T> output(void* tensor, int64_t parts, int64_t part) {
    const Rows<S> stored = at(static_cast<S*>(tensor), parts, part);
    if constexpr (std::is_same_v<S, T>)
      if (stays(stored.stride)) return stored;
    return take();
  }
  /// Copies a finished output to its place.
  void store(Rows<T> result, void* tensor, int64_t parts, int64_t part) const {
    const Rows<S> stored = at(static_cast<S*>(tensor), parts, part);
    if constexpr (std::is_same_v<S, T>)
      if (stays(stored.stride)) return;
    for (int64_t row = 0; row < rows_; ++row) convert_row(result.at(row), head_dim_, stored.at(row));
  }
  /// The room for the next copy. Null: no copies are made.
  T* rest() const { return next_; }

 private:
  template <class E>
  Rows<E> at(E* tensor, int64_t parts, int64_t part) const {
    return place_.rows(tensor, parts, part, head_dim_);
  }
  bool stays(int64_t stride) const { return next_ == nullptr || !is_aliased<S>(stride); }
  Rows<T> take() {
    const Rows<T> rows{next_, head_dim_};
    next_ += rows_ * head_dim_;
    return rows;
  }

  HeadPlace place_;
  int64_t rows_, head_dim_;
  T* next_;
};

/// K and V of one (sequence, key head) pair, [keys, head_dim], and their transposes if a pass asks for them.
/// The transposes are valid until the thread's next pair asks.
template <class T>
struct Keys {
  Rows<const T> k, v;
  Rows<const T> turned_k = {}, turned_v = {};

  void turn_k(int64_t keys, int64_t head_dim) {
    static thread_local Aligned<T> room;
    turned_k = turned(k, keys, head_dim, room);
  }
  void turn_v(int64_t keys, int64_t head_dim) {
    static thread_local Aligned<T> room;
    turned_v = turned(v, keys, head_dim, room);
  }
};
template <class S, class T = Computed<S>>
Keys<T> keys_in(const Attention& op, Matrices<S>& matrices) {
  if (op.kv == nullptr) return {matrices.input(op.qkv, 3, 1), matrices.input(op.qkv, 3, 2)};
  return {matrices.input(op.kv, 2, 0), matrices.input(op.kv, 2, 1)};
}

/// One (sequence, query head) pair and its matrices. It keeps either all of P, stored as S, or the statistics
/// of P's rows.
template <class S, class T = Computed<S>>
struct Head {
  const Attention& op;
  int64_t pair;
  Rows<const T> q;
  Keys<T> keys;
  Rows<S> probs;                  // first is null if P is not kept
  Rows<RowStatistics<T>> kept;    // [seq, 1], first is null if P is kept
  const int32_t* mask = nullptr;  // of the sequence's keys; null: all may be seen
  int64_t first = 0;              // the position of the first query among the keys
  int64_t columns;                // of P
  T scale;

  Head(const Attention& of, int64_t index, Matrices<S>& matrices, const Keys<T>& read)
      : op(of), pair(index), keys(read), columns(op.seq), scale(scale_of(op)) {
    q = matrices.input(op.qkv, op.kv == nullptr ? 3 : 1, 0);
    const HeadPlace place(pair, op.heads, op.seq);
    if (op.recompute)
      kept = place.rows(static_cast<RowStatistics<T>*>(op.saved), 1, 0, 1);
    else
      probs = place.rows(static_cast<S*>(op.saved), 1, 0, op.seq);
    if (op.mask != nullptr) mask = op.mask + pair / op.heads * op.seq;
  }
  /// Queries whose first one is at `position` among the keys of a cache. P's rows are as long as the cache's
  /// room.
  Head(const Attention& of, int64_t index, Rows<const T> query, const Keys<T>& read, int64_t position,
       int64_t room)
      : op(of), pair(index), q(query), keys(read), first(position), columns(room), scale(scale_of(op)) {
    probs = HeadPlace(pair, op.heads, op.seq).rows(static_cast<S*>(op.saved), 1, 0, room);
  }
  static T scale_of(const Attention& of) { return T(1) / std::sqrt(static_cast<T>(of.head_dim)); }
  /// The number of keys that `query` sees. They are the first ones.
  int64_t keys_of(int64_t query) const { return op.causal ? first + query + 1 : op.seq; }
  /// The first query in a block that sees `key`, counted from the block's begin.
  int64_t first_query_of(int64_t key, Range queries) const {
    return op.causal ? std::clamp<int64_t>(key - first - queries.begin, 0, queries.size()) : 0;
  }
  bool has_dropout() const { return op.dropout.probability > 0; }
  /// The place where the probabilities of a block of queries are computed: in P itself, if possible.
  Rows<T> block(Range queries, const Workspace<T>& workspace) const {
    if constexpr (std::is_same_v<S, T>)
      if (!op.recompute) return probs.from(queries.begin);
    return workspace.probs;
  }
};

/// A·B of a block of queries, A [queries, head_dim], B [head_dim, keys], for the keys that each query sees.
template <class S, class T>
void multiply_by_keys(const Head<S>& head, Range queries, Rows<const T> a, Rows<const T> b, Rows<T> c) {
  multiply(HeadProduct<T>{.a = {a.first, a.stride, 1}, .b = b, .c = c}, queries.size(),
           head.keys_of(queries.end - 1), [&](Range rows) {
             return Needed{head.keys_of(queries.begin + rows.end - 1), {0, head.op.head_dim}};
           });
}

/// A·B of a block of queries, A [queries, keys] with zeros for keys that a query does not see, B [keys,
/// head_dim].
template <class S, class T>
void multiply_over_keys(const Head<S>& head, Range queries, Rows<const T> a, Rows<const T> b, Rows<T> c) {
  const int64_t width = head.op.head_dim;
  multiply(HeadProduct<T>{.a = {a.first, a.stride, 1}, .b = b, .c = c}, queries.size(), width,
           [&](Range rows) {
             return Needed{width, {0, head.keys_of(queries.begin + rows.end - 1)}};
           });
}

/// Q·Kᵀ of a block of queries, with hidden keys at kHidden.
template <class S, class T>
void score_block(const Head<S>& head, Range queries, Rows<T> scores) {
  multiply_by_keys(head, queries, head.q.from(queries.begin), head.keys.turned_k, scores);
  if (head.mask == nullptr) return;
  const int64_t rows = queries.size(), keys = head.keys_of(queries.end - 1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t key = 0; key < keys; ++key)
      if (head.mask[key] == 0) scores.at(row)[key] = kHidden<T>;
}

/// Writes P∘M of a block of queries into `dropped`. An element's draw belongs to its place in the P of all
/// heads and the whole batch, so the mask does not depend on T or D.
template <class S, class T>
void drop_block(const Head<S>& head, Range queries, Rows<const T> probs, Rows<T> dropped) {
  const Attention& op = head.op;
  const int64_t keys = head.keys_of(queries.end - 1);
  const int64_t first_token = op.first_token + head.pair / op.heads * op.seq;
  const int64_t index = op.first_head + head.pair % op.heads;
  for (int64_t row = 0; row < queries.size(); ++row) {
    const int64_t query = queries.begin + row, valid = head.keys_of(query);
    std::copy_n(probs.at(row), keys, dropped.at(row));
    drop(op.dropout, ((first_token + query) * op.all_heads + index) * op.seq, valid, dropped.at(row));
  }
}

template <class S, class T>
void forward_head(const Head<S>& head, Rows<T> context, const Workspace<T>& workspace) {
  constexpr bool kRounded = !std::is_same_v<S, T>;  // P is rounded when it is stored
  for (const Range queries : query_blocks(head.op.seq)) {
    const int64_t rows = queries.size(), keys = head.keys_of(queries.end - 1);
    const bool keeps = !head.op.recompute;
    const Rows<T> probs = head.block(queries, workspace);
    score_block(head, queries, probs);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t query = queries.begin + row;
      const RowStatistics<T> statistics =
          softmax_row<T>(probs.at(row), head.keys_of(query), keeps ? head.columns : keys, head.scale);
      if (!keeps) *head.kept.at(query) = statistics;
      if (keeps && kRounded) convert_row(probs.at(row), head.columns, head.probs.at(query));
    }
    if (head.has_dropout()) drop_block(head, queries, as_const(probs), workspace.dropped);
    multiply_over_keys(head, queries, as_const(head.has_dropout() ? workspace.dropped : probs), head.keys.v,
                       context.from(queries.begin));
  }
}

/// Calls body(own pairs, member) once for each thread with its part of all pairs.
template <class Body>
void for_members(int threads, int64_t pairs, Body&& body) {
  const int team = static_cast<int>(std::min<int64_t>(threads, std::max<int64_t>(pairs, 1)));
  parallel_for(team, team,
               [&](int64_t member) { body(shard_range(pairs, team, static_cast<int>(member)), member); });
}

/// Calls body(pair, member) for all pairs. One thread makes all calls of a member.
template <class Body>
void for_pairs(int threads, int64_t pairs, Body&& body) {
  for_members(threads, pairs, [&](Range own, int64_t member) {
    for (int64_t pair = own.begin; pair < own.end; ++pair) body(pair, member);
  });
}

}  // namespace shardlens::cpu
