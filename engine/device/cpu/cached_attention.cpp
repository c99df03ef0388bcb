// Attention of new tokens to a cache of keys and values. Several tokens of a sequence take the forward pass
// of a head. A single token, as in generation, reads the cache once, in its own order.
#include "engine/device/cpu/aligned.h"
#include "engine/device/cpu/attention_head.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/gemv.h"

namespace shardlens::cpu {

namespace {

/// The tensors of a CachedAttention with one query for each sequence.
template <class S>
struct OneQuery {
  const CacheShape& cache;
  KeyHeads shared;
  const S *qkv, *keys, *values;
  S *probs, *context;

  OneQuery(const CachedAttention& op, KeyHeads key_heads)
      : cache(op.shape),
        shared(key_heads),
        qkv(static_cast<const S*>(op.qkv)),
        keys(static_cast<const S*>(op.keys)),
        values(static_cast<const S*>(op.values)),
        probs(static_cast<S*>(op.probs)),
        context(static_cast<S*>(op.context)) {}
};

/// The queries of some heads of one sequence against the first `seen` rows of K and V. The rows of all those
/// heads are read in the cache's order. Each number is used once, and widened in registers. `scores` has a
/// row for each head.
template <class S, class T = Computed<S>>
void attend_once(const OneQuery<S>& of, int64_t sequence, Range heads, int64_t seen, Rows<T> scores) {
  const int64_t width = of.cache.head_dim, room = of.cache.room;
  static thread_local Aligned<T> numbers;
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

/// The same for many (sequence, head) pairs. It takes at most as many at a time as a block has rows.
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

}  // namespace

void CpuDevice::cached_attention(const CachedAttention& op) {
  const CacheShape& cache = op.shape;
  with_element_type(cache.dtype, "attention with a cache", [&](auto zero) {
    using S = decltype(zero);
    const Attention queries{.dtype = cache.dtype,
                            .batch = cache.batch,
                            .seq = cache.seq,
                            .heads = cache.heads,
                            .head_dim = cache.head_dim,
                            .causal = true,
                            .saved = op.probs,
                            .workspace = op.workspace};
    Attention kept = queries;  // its workspace is for rows of the cache's length
    kept.seq = cache.room;
    const int threads = op.workspace == nullptr ? threads_ : std::min(threads_, kMaxTeam);
    const KeyHeads shared = cache.grouped ? cache.keys : KeyHeads{cache.heads, 1, 0};
    if (cache.seq == 1) {
      const OneQuery<S> of(op, shared);
      return for_members(threads, cache.batch * cache.heads, [&](Range pairs, int64_t member) {
        attend_once(of, pairs, Workspace<Computed<S>>(kept, member));
      });
    }
    for_pairs(threads, cache.batch * cache.heads, [&](int64_t pair, int64_t member) {
      const int64_t first = cache.first_position(pair / cache.heads), seen = first + cache.seq;
      const Workspace<Computed<S>> own(kept, member);
      const HeadPlace kept_place(key_pair(shared, cache.heads, pair), shared.heads, cache.room);
      Matrices<S> kept_rows(kept_place, seen, cache.head_dim, own.matrices);
      Keys<Computed<S>> read{kept_rows.input(op.keys, 1, 0), kept_rows.input(op.values, 1, 0)};
      read.turn_k(seen, cache.head_dim);
      Matrices<S> matrices({pair, cache.heads, cache.seq}, cache.seq, cache.head_dim, kept_rows.rest());
      const Head<S> head(queries, pair, matrices.input(op.qkv, cache.grouped ? 1 : 3, 0), read, first,
                         cache.room);
      const auto c = matrices.output(op.context, 1, 0);
      forward_head(head, c, own);
      matrices.store(c, op.context, 1, 0);
    });
  });
}

}  // namespace shardlens::cpu
