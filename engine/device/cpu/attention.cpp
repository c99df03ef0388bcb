// Attention over one rank's heads, forward and backward, one (sequence, head) pair at a time and of that one
// block of query rows at a time, skipping what lies wholly above the causal diagonal. A block of P is either
// kept by the forward pass or computed again by the backward pass from Q, K and two numbers a row, by the
// same calls in the same order: the same bits. A head is computed by the same calls whichever other heads the
// rank holds, so a head's bits do not depend on T. Query heads may share a key head: they read it where it
// is, and the backward pass adds up what they make of its gradient, one after the other. With a cache the
// keys and values are longer than the queries, which stand at their end; the forward pass of a head is the
// same.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/dropout_mask.h"
#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/gemv.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/softmax_rows.h"
#include "engine/device/cpu/vector.h"

namespace shardlens {

namespace {

// Query rows of one product: small enough to skip most of a causal triangle and to stay in cache. Of a short
// sequence half as many, because the blocks at its diagonal are more of its triangle.
constexpr int64_t kBlockRows = 64;
constexpr int64_t kShortSequence = 512;

// Threads that may share a pass which needs workspace: each has blocks of its own, for P, P with dropout, and
// dP.
constexpr int kMaxTeam = 8;
constexpr int64_t kBlocksPerThread = 3;

// A head's matrices in fp32, for a 16-bit dtype: Q, K, V, C, dC, dQ, dK, dV.
constexpr int64_t kMatricesPerThread = 8;

int64_t elements_per_thread(DType dtype, int64_t seq, int64_t head_dim) {
  return kBlocksPerThread * kBlockRows * seq + (is_half(dtype) ? kMatricesPerThread * seq * head_dim : 0);
}

}  // namespace

int64_t attention_workspace_elements(DType dtype, int64_t seq, int64_t head_dim) {
  return kMaxTeam * elements_per_thread(dtype, seq, head_dim);
}

namespace cpu {

namespace {

/// The score of a key nobody may see. Finite, so that a row of nothing else becomes uniform and not NaN.
template <class T>
constexpr T kHidden = T(-1e30);

template <class T>
T dot(const T* a, const T* b, int64_t count) {
  return sum_lanes<T>(fold_vectors<T>(count, Vector<T>{}, [&](Vector<T> total, int64_t i, auto n) {
    return total + load_part(a + i, n, T(0)) * load_part(b + i, n, T(0));
  }));
}

/// Where one head of one sequence lies in a tensor [tokens, parts, heads, width].
struct HeadPlace {
  int64_t first_token = 0, head = 0, heads = 0;

  HeadPlace(int64_t pair, int64_t all, int64_t seq)
      : first_token(pair / all * seq), head(pair % all), heads(all) {}

  /// Its rows in part `part`.
  template <class T>
  Rows<T> rows(T* tensor, int64_t parts, int64_t part, int64_t width) const {
    const int64_t stride = parts * heads * width;
    return {tensor + first_token * stride + (part * heads + head) * width, stride};
  }
};

/// The key heads that a shape's query heads read: their own where queries are not grouped.
KeyHeads keys_of(const AttentionShape& shape) {
  return shape.kv == nullptr ? KeyHeads{shape.heads, 1, 0} : shape.keys;
}

/// The (sequence, key head) pair that a (sequence, query head) pair reads.
int64_t key_pair(const KeyHeads& keys, int64_t heads, int64_t pair) {
  return pair / heads * keys.heads + (keys.first + pair % heads) / keys.group;
}

/// The query heads that read key head `key`.
Range readers_of(const KeyHeads& keys, int64_t heads, int64_t key) {
  const int64_t begin = std::clamp<int64_t>(key * keys.group - keys.first, 0, heads);
  return {begin, std::clamp<int64_t>((key + 1) * keys.group - keys.first, begin, heads)};
}

template <class T>
Rows<const T> as_const(Rows<T> rows) {
  return {rows.first, rows.stride};
}

/// [0, seq) in equal blocks of at most kBlockRows.
std::vector<Range> query_blocks(int64_t seq) {
  const int64_t most = seq > kShortSequence ? kBlockRows : kBlockRows / 2;
  const int count = static_cast<int>((seq + most - 1) / most);
  std::vector<Range> ranges;
  for (int block = 0; block < count; ++block) ranges.push_back(shard_range(seq, count, block));
  return ranges;
}

/// One thread's part of the workspace: blocks of [kBlockRows, seq], rows `seq` apart, and room for [seq,
/// head_dim] matrices.
template <class T>
struct Workspace {
  Rows<T> probs, dropped, dprobs;
  T* matrices = nullptr;

  Workspace(const AttentionShape& shape, void* workspace, int64_t member) {
    if (workspace == nullptr) return;
    T* first =
        static_cast<T*>(workspace) + member * elements_per_thread(shape.dtype, shape.seq, shape.head_dim);
    probs = {first, shape.seq};
    dropped = {first + kBlockRows * shape.seq, shape.seq};
    dprobs = {first + 2 * kBlockRows * shape.seq, shape.seq};
    matrices = first + kBlocksPerThread * kBlockRows * shape.seq;
  }
};

/// The matrices [rows, head_dim] of one head of one sequence as they are computed with: where they lie, or,
/// of a 16-bit dtype, as copies in the workspace.
template <class S, class T = Computed<S>>
class Matrices {
 public:
  Matrices(HeadPlace place, int64_t rows, int64_t head_dim, T* room)
      : place_(place), rows_(rows), head_dim_(head_dim), next_(room) {}

  Rows<const T> input(const void* tensor, int64_t parts, int64_t part) {
    const Rows<const S> stored = at(static_cast<const S*>(tensor), parts, part);
    if constexpr (std::is_same_v<S, T>) {
      return stored;
    } else {
      const Rows<T> copy = take();
      for (int64_t row = 0; row < rows_; ++row) convert_row(stored.at(row), head_dim_, copy.at(row));
      return as_const(copy);
    }
  }
  Rows<T> output(void* tensor, int64_t parts, int64_t part) {
    if constexpr (std::is_same_v<S, T>)
      return at(static_cast<S*>(tensor), parts, part);
    else
      return take();
  }
  /// Puts a finished output in its place.
  void store(Rows<T> result, void* tensor, int64_t parts, int64_t part) const {
    if constexpr (!std::is_same_v<S, T>) {
      const Rows<S> stored = at(static_cast<S*>(tensor), parts, part);
      for (int64_t row = 0; row < rows_; ++row) convert_row(result.at(row), head_dim_, stored.at(row));
    }
  }
  /// Where the next copy goes; null where none are made.
  T* rest() const { return next_; }

 private:
  template <class E>
  Rows<E> at(E* tensor, int64_t parts, int64_t part) const {
    return place_.rows(tensor, parts, part, head_dim_);
  }
  Rows<T> take() {
    const Rows<T> rows{next_, head_dim_};
    next_ += rows_ * head_dim_;
    return rows;
  }

  HeadPlace place_;
  int64_t rows_, head_dim_;
  T* next_;
};

/// K and V of one (sequence, key head) pair.
template <class T>
struct Keys {
  Rows<const T> k, v;
};
template <class S, class T = Computed<S>>
Keys<T> keys_in(const AttentionShape& shape, Matrices<S>& matrices, const void* qkv) {
  if (shape.kv == nullptr) return {matrices.input(qkv, 3, 1), matrices.input(qkv, 3, 2)};
  return {matrices.input(shape.kv, 2, 0), matrices.input(shape.kv, 2, 1)};
}

/// One (sequence, query head) pair, and what of its matrices a block of rows meets. P is kept whole, as S, or
/// its rows' statistics are.
template <class S, class T = Computed<S>>
struct Head {
  const AttentionShape& shape;
  int64_t pair;
  Rows<const T> q, k, v;
  Rows<S> probs;                  // first is null when P is not kept
  Rows<RowStatistics<T>> kept;    // [seq, 1], first is null when P is kept
  const int32_t* mask = nullptr;  // of the sequence's keys; null: all may be seen
  int64_t first = 0;              // the position of the first query among the keys
  int64_t columns;                // of P
  T scale;

  Head(const AttentionShape& s, int64_t index, Matrices<S>& matrices, const Keys<T>& keys, const void* qkv,
       void* saved)
      : shape(s), pair(index), k(keys.k), v(keys.v), columns(s.seq), scale(scale_of(s)) {
    q = matrices.input(qkv, shape.kv == nullptr ? 3 : 1, 0);
    const HeadPlace place(pair, shape.heads, shape.seq);
    if (shape.recompute)
      kept = place.rows(static_cast<RowStatistics<T>*>(saved), 1, 0, 1);
    else
      probs = place.rows(static_cast<S*>(saved), 1, 0, shape.seq);
    if (shape.mask != nullptr) mask = shape.mask + pair / shape.heads * shape.seq;
  }
  /// Queries that stand at `position` among the keys of a cache, whose room P's rows have.
  Head(const AttentionShape& s, int64_t index, Rows<const T> query, const Keys<T>& keys, void* all_probs,
       int64_t position, int64_t room)
      : shape(s),
        pair(index),
        q(query),
        k(keys.k),
        v(keys.v),
        first(position),
        columns(room),
        scale(scale_of(s)) {
    probs = HeadPlace(pair, shape.heads, shape.seq).rows(static_cast<S*>(all_probs), 1, 0, room);
  }
  static T scale_of(const AttentionShape& s) { return T(1) / std::sqrt(static_cast<T>(s.head_dim)); }
  /// Keys that `query` sees: the first ones.
  int64_t keys_of(int64_t query) const { return shape.causal ? first + query + 1 : shape.seq; }
  bool has_dropout() const { return shape.dropout.probability > 0; }
  /// Where the probabilities of a block of queries are computed: where they are kept, if they can be.
  Rows<T> block(Range queries, const Workspace<T>& workspace) const {
    if constexpr (std::is_same_v<S, T>)
      if (!shape.recompute) return probs.from(queries.begin);
    return workspace.probs;
  }
};

/// Q·Kᵀ of a block of queries, with hidden keys at kHidden.
template <class S, class T>
void score_block(const Head<S>& head, Range queries, Rows<T> scores) {
  const int64_t rows = queries.size(), keys = head.keys_of(queries.end - 1);
  multiply(Product<T>{.transpose_b = true,
                      .m = rows,
                      .n = keys,
                      .k = head.shape.head_dim,
                      .a = head.q.from(queries.begin),
                      .b = head.k,
                      .c = scores});
  if (head.mask == nullptr) return;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t key = 0; key < keys; ++key)
      if (head.mask[key] == 0) scores.at(row)[key] = kHidden<T>;
}

/// P∘M of a block of queries into `dropped`. An element's draw is that of its place in the P of all heads and
/// of the whole batch, so that the mask depends on neither T nor D.
template <class S, class T>
void drop_block(const Head<S>& head, Range queries, Rows<const T> probs, Rows<T> dropped) {
  const AttentionShape& shape = head.shape;
  const int64_t keys = head.keys_of(queries.end - 1);
  const int64_t first_token = shape.first_token + head.pair / shape.heads * shape.seq;
  const int64_t index = shape.first_head + head.pair % shape.heads;
  for (int64_t row = 0; row < queries.size(); ++row) {
    const int64_t query = queries.begin + row, valid = head.keys_of(query);
    std::copy_n(probs.at(row), keys, dropped.at(row));
    drop(shape.dropout, ((first_token + query) * shape.all_heads + index) * shape.seq, valid,
         dropped.at(row));
  }
}

template <class S, class T>
void forward_head(const Head<S>& head, Rows<T> context, const Workspace<T>& workspace) {
  constexpr bool kRounded = !std::is_same_v<S, T>;  // P is rounded where it is kept
  for (const Range queries : query_blocks(head.shape.seq)) {
    const int64_t rows = queries.size(), keys = head.keys_of(queries.end - 1);
    const bool keeps = !head.shape.recompute;
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
    multiply(Product<T>{.m = rows,
                        .n = head.shape.head_dim,
                        .k = keys,
                        .a = as_const(head.has_dropout() ? workspace.dropped : probs),
                        .b = head.v,
                        .c = context.from(queries.begin)});
  }
}

/// The probabilities of a block of queries, as the forward pass had them or as it kept them.
template <class S, class T>
Rows<T> probabilities(const Head<S>& head, Range queries, const Workspace<T>& workspace) {
  const int64_t keys = head.keys_of(queries.end - 1);
  const Rows<T> probs = head.block(queries, workspace);
  if (head.shape.recompute) score_block(head, queries, probs);
  for (int64_t query = queries.begin; query < queries.end; ++query) {
    T* row = probs.at(query - queries.begin);
    if (head.shape.recompute)
      softmax_row_again<T>(row, head.keys_of(query), keys, head.scale, *head.kept.at(query));
    else if constexpr (!std::is_same_v<S, T>)
      convert_row(head.probs.at(query), keys, row);
  }
  return probs;
}

/// What the backward pass of one head reads and writes beside Head: [seq, width] each.
template <class T>
struct HeadGradient {
  Rows<const T> context, dcontext;
  Rows<T> dq, dk, dv;
};

/// A block of queries at a time: dV += (P∘M)ᵀ·dC, dS = P∘(M∘(dC·Vᵀ) − rowsum(dC∘C))·scale, dQ = dS·K,
/// dK += dSᵀ·Q.
template <class S, class T>
void backward_head(const Head<S>& head, const HeadGradient<T>& gradient, const Workspace<T>& workspace) {
  const int64_t seq = head.shape.seq, width = head.shape.head_dim;
  for (const Range queries : query_blocks(seq)) {
    const int64_t rows = queries.size(), keys = head.keys_of(queries.end - 1);
    const Rows<T> probs = probabilities(head, queries, workspace);
    if (head.has_dropout()) drop_block(head, queries, as_const(probs), workspace.dropped);
    const Rows<T> used = head.has_dropout() ? workspace.dropped : probs;
    const Rows<const T> dc = gradient.dcontext.from(queries.begin), c = gradient.context.from(queries.begin);
    const Rows<T> dscores = workspace.dprobs;
    const auto add_to = [&](Rows<T> result, Rows<T> block, Rows<const T> in) {
      multiply(Product<T>{.transpose_a = true,
                          .m = keys,
                          .n = width,
                          .k = rows,
                          .a = as_const(block),
                          .b = in,
                          .c = result,
                          .accumulate = true});
    };
    add_to(gradient.dv, used, dc);
    multiply(Product<T>{
        .transpose_b = true, .m = rows, .n = keys, .k = width, .a = dc, .b = head.v, .c = dscores});
    for (int64_t row = 0; row < rows; ++row)
      softmax_grad_row<T>(probs.at(row), head.has_dropout() ? used.at(row) : nullptr, dscores.at(row),
                          head.keys_of(queries.begin + row), keys, dot<T>(dc.at(row), c.at(row), width),
                          head.scale);
    multiply(Product<T>{.m = rows,
                        .n = width,
                        .k = keys,
                        .a = as_const(dscores),
                        .b = head.k,
                        .c = gradient.dq.from(queries.begin)});
    add_to(gradient.dk, dscores, head.q.from(queries.begin));
  }
}

template <class T>
void set_to_zero(Rows<T> matrix, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) std::fill_n(matrix.at(row), width, T(0));
}

/// What cached_attention() reads and writes, where queries are one a sequence.
template <class S>
struct OneQuery {
  const CacheShape& cache;
  KeyHeads shared;
  const S *qkv, *keys, *values;
  S *probs, *context;
};

/// The queries of some heads of one sequence against the `seen` first rows of K and V: a row of all those
/// heads after the other, as they lie in the cache. Its numbers are used once, and widened in registers. Of
/// `scores` a row a head.
template <class S, class T = Computed<S>>
void attend_once(const OneQuery<S>& of, int64_t sequence, Range heads, int64_t seen, Rows<T> scores) {
  const int64_t width = of.cache.head_dim, room = of.cache.room;
  static thread_local std::vector<T> numbers;
  numbers.resize(static_cast<size_t>(heads.size() * width));
  const Rows<T> rows{numbers.data(), width};  // Q, then C
  std::vector<RowProduct<T, S>> scoring, adding;
  for (int64_t i = 0; i < heads.size(); ++i) {
    const int64_t pair = sequence * of.cache.heads + heads.begin + i;
    const HeadPlace query(pair, of.cache.heads, 1);
    const HeadPlace kept(key_pair(of.shared, of.cache.heads, pair), of.shared.heads, room);
    convert_row(query.rows(of.qkv, of.cache.grouped ? 1 : 3, 0, width).first, width, rows.at(i));
    scoring.push_back({rows.at(i), kept.rows(of.keys, 1, 0, width), scores.at(i)});
    adding.push_back({scores.at(i), kept.rows(of.values, 1, 0, width), rows.at(i)});
  }
  multiply_rows<T, S>(scoring, true, seen, width);
  for (int64_t i = 0; i < heads.size(); ++i) {
    S* const probs = of.probs + (sequence * of.cache.heads + heads.begin + i) * room;
    softmax_row<T>(scores.at(i), seen, room, T(1) / std::sqrt(static_cast<T>(width)));
    if constexpr (!std::is_same_v<S, T>) convert_row(scores.at(i), room, probs);
  }
  multiply_rows<T, S>(adding, false, width, seen);
  S* const context = of.context + (sequence * of.cache.heads + heads.begin) * width;
  convert_row(numbers.data(), heads.size() * width, context);
}

/// The same of (sequence, head) pairs, of as many at a time as a block has rows.
template <class S, class T = Computed<S>>
void attend_once(const OneQuery<S>& of, Range pairs, const Workspace<T>& workspace) {
  const int64_t heads = of.cache.heads;
  for (int64_t pair = pairs.begin, end; pair < pairs.end; pair = end) {
    const int64_t sequence = pair / heads;
    end = std::min({pairs.end, (sequence + 1) * heads, pair + kBlockRows});
    Rows<T> scores = workspace.probs;
    if constexpr (std::is_same_v<S, T>) scores = {of.probs + pair * of.cache.room, of.cache.room};
    attend_once(of, sequence, {pair - sequence * heads, end - sequence * heads},
                of.cache.first_position(sequence) + 1, scores);
  }
}

/// Calls body(own pairs, member) for each thread's part of all pairs.
template <class Body>
void for_members(int threads, int64_t pairs, Body&& body) {
  const int team = static_cast<int>(std::min<int64_t>(threads, std::max<int64_t>(pairs, 1)));
  parallel_for(team, team,
               [&](int64_t member) { body(shard_range(pairs, team, static_cast<int>(member)), member); });
}

/// Calls body(pair, member) for all pairs, those of a member by one thread.
template <class Body>
void for_pairs(int threads, int64_t pairs, Body&& body) {
  for_members(threads, pairs, [&](Range own, int64_t member) {
    for (int64_t pair = own.begin; pair < own.end; ++pair) body(pair, member);
  });
}

}  // namespace

void CpuDevice::attention(const AttentionShape& shape, const void* qkv, void* saved, void* context,
                          void* workspace) {
  with_element_type(shape.dtype, "attention", [&](auto zero) {
    using S = decltype(zero);
    const int threads = workspace == nullptr ? threads_ : std::min(threads_, kMaxTeam);
    const KeyHeads keys = keys_of(shape);
    for_pairs(threads, shape.batch * shape.heads, [&](int64_t pair, int64_t member) {
      const Workspace<Computed<S>> own(shape, workspace, member);
      const HeadPlace key_place(key_pair(keys, shape.heads, pair), keys.heads, shape.seq);
      Matrices<S> key_matrices(key_place, shape.seq, shape.head_dim, own.matrices);
      const auto read = keys_in<S>(shape, key_matrices, qkv);
      Matrices<S> matrices({pair, shape.heads, shape.seq}, shape.seq, shape.head_dim, key_matrices.rest());
      const Head<S> head(shape, pair, matrices, read, qkv, saved);
      const auto c = matrices.output(context, 1, 0);
      forward_head(head, c, own);
      matrices.store(c, context, 1, 0);
    });
  });
}

void CpuDevice::cached_attention(const CacheShape& cache, const void* qkv, const void* keys,
                                 const void* values, void* probs, void* context, void* workspace) {
  with_element_type(cache.dtype, "attention with a cache", [&](auto zero) {
    using S = decltype(zero);
    AttentionShape shape{.dtype = cache.dtype,
                         .batch = cache.batch,
                         .seq = cache.seq,
                         .heads = cache.heads,
                         .head_dim = cache.head_dim,
                         .causal = true};
    AttentionShape kept = shape;  // what the rows of the cache are to the rows of QKV
    kept.seq = cache.room;
    const int threads = workspace == nullptr ? threads_ : std::min(threads_, kMaxTeam);
    const KeyHeads shared = cache.grouped ? cache.keys : KeyHeads{cache.heads, 1, 0};
    if (shape.seq == 1) {
      const OneQuery<S> of{cache,
                           shared,
                           static_cast<const S*>(qkv),
                           static_cast<const S*>(keys),
                           static_cast<const S*>(values),
                           static_cast<S*>(probs),
                           static_cast<S*>(context)};
      return for_members(threads, shape.batch * shape.heads, [&](Range pairs, int64_t member) {
        attend_once(of, pairs, Workspace<Computed<S>>(kept, workspace, member));
      });
    }
    for_pairs(threads, shape.batch * shape.heads, [&](int64_t pair, int64_t member) {
      const int64_t first = cache.first_position(pair / shape.heads), seen = first + shape.seq;
      const Workspace<Computed<S>> own(kept, workspace, member);
      const HeadPlace kept_place(key_pair(shared, shape.heads, pair), shared.heads, cache.room);
      Matrices<S> kept_rows(kept_place, seen, shape.head_dim, own.matrices);
      const Keys<Computed<S>> read{kept_rows.input(keys, 1, 0), kept_rows.input(values, 1, 0)};
      Matrices<S> queries({pair, shape.heads, shape.seq}, shape.seq, shape.head_dim, kept_rows.rest());
      const Head<S> head(shape, pair, queries.input(qkv, cache.grouped ? 1 : 3, 0), read, probs, first,
                         cache.room);
      const auto c = queries.output(context, 1, 0);
      forward_head(head, c, own);
      queries.store(c, context, 1, 0);
    });
  });
}

void CpuDevice::attention_grad(const AttentionShape& shape, const void* qkv, const void* saved,
                               const void* context, const void* dcontext, void* dqkv, void* workspace) {
  with_element_type(shape.dtype, "the gradient of attention", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const KeyHeads keys = keys_of(shape);
    const bool grouped = shape.kv != nullptr;
    void* dkv = grouped ? shape.dkv : dqkv;
    const int64_t kv_parts = grouped ? 2 : 3, k_part = grouped ? 0 : 1, q_parts = grouped ? 1 : 3;
    for_pairs(std::min(threads_, kMaxTeam), shape.batch * keys.heads, [&](int64_t key, int64_t member) {
      const Workspace<T> own(shape, workspace, member);
      Matrices<S> shared({key, keys.heads, shape.seq}, shape.seq, shape.head_dim, own.matrices);
      const Keys<T> read = keys_in<S>(shape, shared, qkv);
      const Rows<T> dk = shared.output(dkv, kv_parts, k_part), dv = shared.output(dkv, kv_parts, k_part + 1);
      set_to_zero(dk, shape.seq, shape.head_dim);
      set_to_zero(dv, shape.seq, shape.head_dim);
      const Range readers = readers_of(keys, shape.heads, key % keys.heads);
      for (int64_t query = readers.begin; query < readers.end; ++query) {
        const int64_t pair = key / keys.heads * shape.heads + query;
        Matrices<S> matrices({pair, shape.heads, shape.seq}, shape.seq, shape.head_dim, shared.rest());
        const Head<S> head(shape, pair, matrices, read, qkv, const_cast<void*>(saved));
        const HeadGradient<T> gradient{matrices.input(context, 1, 0), matrices.input(dcontext, 1, 0),
                                       matrices.output(dqkv, q_parts, 0), dk, dv};
        backward_head(head, gradient, own);
        matrices.store(gradient.dq, dqkv, q_parts, 0);
      }
      shared.store(dk, dkv, kv_parts, k_part);
      shared.store(dv, dkv, kv_parts, k_part + 1);
    });
  });
}

}  // namespace cpu

}  // namespace shardlens
