// Attention in 16 bits on the matrix units. A block of four warps takes 64 rows. Each warp has 16 of them,
// with their results in registers. The other side comes into shared memory, a tile at a time. The block's
// rows are queries in the forward pass and for dQ, and keys for dK and dV, where the scores are transposed.
// So every product has one of the two forms in matrix_units.cuh, and there are no atomics. The next tiles are
// copied while the current ones are used.
//
// Products are summed in fp32 and softmax is fp32. The matrix units' operands P and dS are rounded to the
// run's format. The CPU does not do this; the difference is a few units in the last place.
#include "engine/device/cuda/attention_half.cuh"

#include "engine/device/cuda/matrix_units.cuh"

namespace shardlens::cuda {

namespace {

constexpr int kWarps = 4;
constexpr int kBlockThreads = 32 * kWarps;
constexpr int kBlockRows = 16 * kWarps;  // rows that a block owns
constexpr float kHiddenScore = -1e30f;   // of a key that no query may see, as in attention_tiles.cuh

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

/// Starts copies of the rows [first, first + count) of a head into a tile of kRows rows. Elements that do not
/// exist become 0.
template <class S, int kWidth, int kRows>
__device__ __forceinline__ void ask_for_rows(const HeadRows<const S>& rows, int64_t first, int count,
                                             int64_t head, int64_t head_dim, S* tile) {
  constexpr int kPacks = kWidth / kLanes<S>, kTogether = kPacks <= 8 ? 16 : 8;  // rows at a time
  static_assert(kPacks * kTogether <= kBlockThreads && kRows % kTogether == 0);
  const int row = static_cast<int>(threadIdx.x) / kPacks;
  const int col = static_cast<int>(threadIdx.x) % kPacks * kLanes<S>;
  if (row >= kTogether) return;
  const int there = col < head_dim ? count - row : 0;
  const S* from = rows.at(first + row, head, head_dim) + col;
  S* to = tile + row * kRowStride<kWidth> + col;
#pragma unroll
  for (int i = 0; i < kRows; i += kTogether) {
    ask_for_copy<16>(to + i * kRowStride<kWidth>, from, i < there);
    from += kTogether * rows.stride;
  }
}

/// Stores a warp's 16 rows of a result [count, head_dim], from row `row` on, in pairs of elements. The rows
/// begin at multiples of 16 bytes.
template <class S, int kWidth>
__device__ __forceinline__ void store_result(const float (&result)[kWidth / 8][4], const float (&factor)[2],
                                             const HeadRows<S>& rows, int64_t first, int row, int count,
                                             int64_t head, int64_t head_dim) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const FragmentPlace place = result_place(lane, 2 * half);
    if (row + place.row >= count) continue;
    S* out = rows.at(first + row + place.row, head, head_dim) + place.col;
#pragma unroll
    for (int n = 0; n < kWidth / 8; ++n) {
      if (n * 8 >= head_dim) continue;
      *reinterpret_cast<uint32_t*>(out + n * 8) =
          pack_pair<S>(result[n][2 * half] * factor[half], result[n][2 * half + 1] * factor[half]);
    }
  }
}

/// The two queries for which a lane has elements, and the number of keys that each of them sees.
struct OwnQueries {
  int query[2], seen[2];  // seen: 0 if the query does not exist

  template <class A>
  __device__ __forceinline__ OwnQueries(const A& a, int first_row, int first) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      query[half] = first_row + result_place(lane, 2 * half).row;
      seen[half] = query[half] < a.seq ? a.seen_by(first + query[half]) : 0;
    }
  }
};

/// Sets scores to -infinity if the query does not see the key, and to kHiddenScore if no query may see it.
template <class A, int N>
__device__ __forceinline__ void hide(const A& a, const OwnQueries& own, int64_t sequence, int key,
                                     float (&scores)[N][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int col = key + n * 8 + result_place(lane, e).col;
      if (col >= own.seen[e / 2])
        scores[n][e] = -INFINITY;
      else if (a.masks() && a.mask[sequence * a.room + col] == 0)
        scores[n][e] = kHiddenScore;
    }
}

/// One pass over the keys. Results are rescaled when a row's largest score grows. If P is stored there is a
/// second pass, because it needs the rows' statistics.
template <int kWidth, class A>
__global__ void __launch_bounds__(kBlockThreads)
    half_attention_kernel(A a, HeadRows<typename A::S> context, int64_t tiles) {
  using S = typename A::S;
  constexpr int kKeys = 64, N = kKeys / 8;
  constexpr int kV = kKeys * kRowStride<kWidth>, kTurn = 2 * kV;  // offsets of V from K, and of the other K
  S* tile = reinterpret_cast<S*>(block_memory());
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = static_cast<int>(threadIdx.x) / 32 * 16;

  const TilePlace at(blockIdx.x, a.batch, a.heads, tiles, a.causal);
  const int seq = static_cast<int>(a.seq), query = at.tile * kBlockRows;
  const int rows = seq - query < kBlockRows ? seq - query : kBlockRows;
  const int first = static_cast<int>(a.first_position(at.sequence));
  const int64_t token = at.sequence * a.seq + query;
  const int64_t key_head = key_head_of(a.keys, at.head), first_key = at.sequence * a.room;
  const int end = a.seen_by(first + query + rows - 1);  // of the keys that at least one row sees
  const int all_see = a.seen_by(first + query);         // the number of keys that all rows see
  const OwnQueries own(a, query + warp_row, first);
  const auto ask_for_keys = [&](const HeadRows<const S>& part, int key, S* to) {
    const int count = end - key < kKeys ? end - key : kKeys;
    ask_for_rows<S, kWidth, kKeys>(part, first_key + key, count, key_head, a.head_dim, to);
  };
  ask_for_rows<S, kWidth, kBlockRows>(a.q, token, rows, at.head, a.head_dim, tile + kTurn);
  ask_for_keys(a.k, 0, tile);
  ask_for_keys(a.v, 0, tile + kV);
  wait_for_copies();
  __syncthreads();
  const KeptLeftRows q(LeftRows<S, kWidth>(tile + kTurn + warp_row * kRowStride<kWidth>));

  const float scale = in_base_2(a.scale);
  float result[kWidth / 8][4] = {}, top[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  int turn = 0;
  for (int key = 0; key < end; key += kKeys) {
    wait_for_copies();
    __syncthreads();  // these tiles have come, and what lies where the next will come has been read
    const S* k = tile + turn;
    turn = kTurn - turn;
    if (key + kKeys < end) {
      ask_for_keys(a.k, key + kKeys, tile + turn);
      ask_for_keys(a.v, key + kKeys, tile + turn + kV);
    }
    float scores[N][4] = {};
    rows_by_rows<S, kWidth, N>(q, k, scores);
    if (a.masks() || key + kKeys > all_see) hide(a, own, at.sequence, key, scores);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = -INFINITY;
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) largest = fmaxf(largest, scores[n][e]);
      largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, 2));
      const float higher = fmaxf(top[half], times(largest, a.scale));
      const float base = in_base_2(higher);
      const float shrink = higher == top[half] ? 1.0f : power_of_2(in_base_2(top[half]) - base);
      top[half] = higher;
      sum[half] *= shrink;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) result[n][e] *= shrink;
      MaskReader mask(a.dropping);
      const int64_t draw = a.drops() ? a.first_draw(at.sequence, at.head, own.query[half]) + key : 0;
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          const float unscaled = exponential(a, scale, scores[n][e], base);
          sum[half] += unscaled;
          const bool dropped = a.drops() && mask.drops(draw + n * 8 + result_place(lane, e).col);
          scores[n][e] = dropped ? 0.0f : unscaled;
        }
    }
    block_by_rows<S, kWidth, N>(scores, k + kV, result);
  }

  float inverse[2], factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    sum[half] += __shfl_xor_sync(0xFFFFFFFFu, sum[half], 1);
    sum[half] += __shfl_xor_sync(0xFFFFFFFFu, sum[half], 2);
    inverse[half] = 1.0f / sum[half];
    factor[half] = a.drops() ? inverse[half] * static_cast<float>(a.dropping.scale) : inverse[half];
    if (a.kept == nullptr || lane % 4 != 0 || own.query[half] >= a.seq) continue;
    float* kept = a.kept + ((at.sequence * a.seq + own.query[half]) * a.heads + at.head) * 2;
    kept[0] = top[half];
    kept[1] = inverse[half];
  }
  store_result<S, kWidth>(result, factor, context, token, warp_row, rows, at.head, a.head_dim);
  if (!a.keeps()) return;

  for (int key = 0; key < end; key += kKeys) {
    __syncthreads();  // the tile before has been read
    ask_for_keys(a.k, key, tile);
    wait_for_copies();
    __syncthreads();
    float scores[N][4] = {};
    rows_by_rows<S, kWidth, N>(q, tile, scores);
    if (a.masks() || key + kKeys > all_see) hide(a, own, at.sequence, key, scores);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (own.query[e / 2] >= a.seq) continue;
      S* kept = a.probs + ((at.sequence * a.seq + own.query[e / 2]) * a.heads + at.head) * a.room;
#pragma unroll
      for (int n = 0; n < N; ++n) {
        const int col = key + n * 8 + result_place(lane, e).col;
        if (col < end)
          kept[col] = narrow<S>(exponential(a, scale, scores[n][e], in_base_2(top[e / 2])) * inverse[e / 2]);
      }
    }
  }
  for (int row = static_cast<int>(threadIdx.x) / 32; row < rows; row += kWarps) {
    S* kept = a.probs + ((token + row) * a.heads + at.head) * a.room;
    for (int64_t col = end + lane; col < a.room; col += 32) kept[col] = narrow<S>(0.0f);
  }
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

/// The number of blocks of the next kernel for which an SM must have registers, if this costs no spills. 0:
/// any.
template <int kWidth, class A>
inline constexpr int kQueryGradBlocks = kWidth <= 64 && A::kIsPlain ? 3 : 0;

/// dQ of 64 queries.
template <int kWidth, class A>
__global__ void __launch_bounds__(kBlockThreads, kQueryGradBlocks<kWidth, A>)
    half_query_grad_kernel(A a, AttentionGradView<typename A::S> gradient, int64_t tiles) {
  using S = typename A::S;
  constexpr int kKeys = kWidth <= 64 ? 64 : 32, N = kKeys / 8;
  constexpr int kV = kKeys * kRowStride<kWidth>, kTurn = 2 * kV;
  S* tile = reinterpret_cast<S*>(block_memory());
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = static_cast<int>(threadIdx.x) / 32 * 16;

  const TilePlace at(blockIdx.x, a.batch, a.heads, tiles, a.causal);
  const int seq = static_cast<int>(a.seq), query = at.tile * kBlockRows;
  const int rows = seq - query < kBlockRows ? seq - query : kBlockRows;
  const int64_t token = at.sequence * a.seq + query, key_head = key_head_of(a.keys, at.head);
  const int end = a.seen_by(query + rows - 1), all_see = a.seen_by(query);
  const OwnQueries own(a, query + warp_row, 0);
  const auto ask_for_keys = [&](int key, S* to) {
    const int count = end - key < kKeys ? end - key : kKeys;
    const int64_t first = at.sequence * a.room + key;
    ask_for_rows<S, kWidth, kKeys>(a.k, first, count, key_head, a.head_dim, to);
    ask_for_rows<S, kWidth, kKeys>(a.v, first, count, key_head, a.head_dim, to + kV);
  };
  S* own_rows = tile + kTurn;
  S* own_dc = own_rows + kBlockRows * kRowStride<kWidth>;
  ask_for_rows<S, kWidth, kBlockRows>(a.q, token, rows, at.head, a.head_dim, own_rows);
  ask_for_rows<S, kWidth, kBlockRows>(gradient.dcontext, token, rows, at.head, a.head_dim, own_dc);
  ask_for_keys(0, tile);
  const float scale = in_base_2(a.scale);
  float top[2] = {}, inverse[2] = {}, delta[2] = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (own.query[half] >= a.seq) continue;
    const int64_t index = (at.sequence * a.seq + own.query[half]) * a.heads + at.head;
    delta[half] = gradient.delta[index];
    if (a.kept == nullptr) continue;
    top[half] = in_base_2(a.kept[2 * index]);
    inverse[half] = a.kept[2 * index + 1];
  }

  wait_for_copies();
  __syncthreads();
  const KeptLeftRows q(LeftRows<S, kWidth>(own_rows + warp_row * kRowStride<kWidth>));
  const KeptLeftRows dc(LeftRows<S, kWidth>(own_dc + warp_row * kRowStride<kWidth>));

  float result[kWidth / 8][4] = {};
  int turn = 0;
  for (int key = 0; key < end; key += kKeys) {
    wait_for_copies();
    __syncthreads();  // these tiles have come, and what lies where the next will come has been read
    const S* k = tile + turn;
    turn = kTurn - turn;
    if (key + kKeys < end) ask_for_keys(key + kKeys, tile + turn);
    float scores[N][4] = {}, dprobs[N][4] = {};
    if (!a.keeps()) rows_by_rows<S, kWidth, N>(q, k, scores);
    rows_by_rows<S, kWidth, N>(dc, k + kV, dprobs);
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int half = e / 2;
        scores[n][e] = probability_of(a, at.sequence, at.head, own.query[half], own.seen[half],
                                      key + n * 8 + result_place(lane, e).col, scale, scores[n][e], top[half],
                                      inverse[half]);
      }
    if (key + kKeys > all_see) {
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (key + n * 8 + result_place(lane, e).col >= own.seen[e / 2]) scores[n][e] = 0;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      MaskReader mask(a.dropping);
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          const float used = used_of(a, mask, at.sequence, at.head, own.query[half],
                                     key + n * 8 + result_place(lane, e).col, scores[n][e]);
          scores[n][e] = scaled_gradient(scores[n][e], used, dprobs[n][e], delta[half], a.scale, a.drops());
        }
    }
    block_by_rows<S, kWidth, N>(scores, k, result);
  }
  const FirstKeys first_keys = a.first_keys(at.sequence);
  const float factors[2] = {first_keys.are_one_of(own.seen[0]) ? 0.0f : 1.0f,
                            first_keys.are_one_of(own.seen[1]) ? 0.0f : 1.0f};
  store_result<S, kWidth>(result, factors, gradient.dq, token, warp_row, rows, at.head, a.head_dim);
}

/// dK and dV of 64 keys. The scores are transposed: a lane's rows are keys, and its columns are queries.
template <int kWidth, class A>
__global__ void __launch_bounds__(kBlockThreads)
    half_key_grad_kernel(A a, AttentionGradView<typename A::S> gradient, int64_t tiles) {
  using S = typename A::S;
  constexpr int kQueries = kWidth <= 64 ? 64 : 32, N = kQueries / 8;
  constexpr int kDc = kQueries * kRowStride<kWidth>, kTurn = 2 * kDc;
  S* own_k = reinterpret_cast<S*>(block_memory());
  S* own_v = own_k + kBlockRows * kRowStride<kWidth>;
  S* tile = own_v + kBlockRows * kRowStride<kWidth>;
  __shared__ float tops[2 * kQueries], inverses[2 * kQueries], deltas[2 * kQueries];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = static_cast<int>(threadIdx.x) / 32 * 16;

  const TilePlace at(blockIdx.x, a.batch, a.keys.heads, tiles, false);
  const int seq = static_cast<int>(a.seq), key = at.tile * kBlockRows;
  const int count = static_cast<int>(a.room) - key < kBlockRows ? static_cast<int>(a.room) - key : kBlockRows;
  const int64_t token = at.sequence * a.room + key;
  // Queries before the first key see none of these keys. 64 is a multiple of the queries at a time.
  const int first_query = a.causal ? key : 0;
  const Readers readers = readers_of(a.keys, a.heads, at.head);
  const int first_head = static_cast<int>(readers.begin), end_head = static_cast<int>(readers.end);
  const auto ask_for_queries = [&](int head, int query, int turn) {
    S* to = tile + turn * kTurn;
    const int rows = seq - query < kQueries ? seq - query : kQueries;
    const int64_t first = at.sequence * a.seq + query;
    ask_for_rows<S, kWidth, kQueries>(a.q, first, rows, head, a.head_dim, to);
    ask_for_rows<S, kWidth, kQueries>(gradient.dcontext, first, rows, head, a.head_dim, to + kDc);
    if (threadIdx.x >= kQueries) return;
    const int64_t index = (first + threadIdx.x) * a.heads + head;
    const int place = turn * kQueries + static_cast<int>(threadIdx.x);
    const bool exists = static_cast<int>(threadIdx.x) < rows, was_kept = exists && a.kept != nullptr;
    ask_for_copy<4>(deltas + place, gradient.delta + index, exists);
    ask_for_copy<4>(tops + place, a.kept + 2 * index, was_kept);
    ask_for_copy<4>(inverses + place, a.kept + 2 * index + 1, was_kept);
  };
  const LeftRows<S, kWidth> k(own_k + warp_row * kRowStride<kWidth>),
      v(own_v + warp_row * kRowStride<kWidth>);
  if (first_head < end_head) {
    ask_for_rows<S, kWidth, kBlockRows>(a.k, token, count, at.head, a.head_dim, own_k);
    ask_for_rows<S, kWidth, kBlockRows>(a.v, token, count, at.head, a.head_dim, own_v);
    ask_for_queries(first_head, first_query, 0);
  }
  const float scale = in_base_2(a.scale);
  const FirstKeys first_keys = a.first_keys(at.sequence);
  float dk[kWidth / 8][4] = {}, dv[kWidth / 8][4] = {};
  int turn = 0;
  int query = first_query;
  for (int head = first_head; head < end_head;) {
    const bool last = query + kQueries >= seq;
    const int next_head = last ? head + 1 : head;
    const int next_query = last ? first_query : query + kQueries;
    wait_for_copies();
    __syncthreads();  // these tiles have come, and those before have been read
    const S* q = tile + turn * kTurn;
    const int part = turn * kQueries;
    turn = 1 - turn;
    const int rows = seq - query < kQueries ? seq - query : kQueries;
    float scores[N][4] = {}, dprobs[N][4] = {};
    if (!a.keeps()) rows_by_rows<S, kWidth, N>(k, q, scores);
    rows_by_rows<S, kWidth, N>(v, q + kDc, dprobs);
    // Not earlier, because there are few free registers.
    if (next_head < end_head) ask_for_queries(next_head, next_query, turn);
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const FragmentPlace place = result_place(lane, e);
        const int col = n * 8 + place.col;
        // 0 where there is no such query or the warp's rows reach past the keys.
        const int seen = col < rows ? a.seen_by(query + col) : 0;
        scores[n][e] = probability_of(a, at.sequence, head, query + col, seen, key + warp_row + place.row,
                                      scale, scores[n][e], in_base_2(tops[part + col]), inverses[part + col]);
      }
    // If a query does not exist, its Q, dC and statistics are 0, and nothing is added.
    if (key + kBlockRows > a.seen_by(query)) {
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const FragmentPlace place = result_place(lane, e);
          if (key + warp_row + place.row >= a.seen_by(query + n * 8 + place.col)) scores[n][e] = 0;
        }
    }
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const FragmentPlace place = result_place(lane, e);
        const int col = n * 8 + place.col;
        MaskReader mask(a.dropping);
        const float prob = scores[n][e];
        scores[n][e] = used_of(a, mask, at.sequence, head, query + col, key + warp_row + place.row, prob);
        dprobs[n][e] =
            scaled_gradient(prob, scores[n][e], dprobs[n][e], deltas[part + col], a.scale, a.drops());
      }
    if (a.seen_by(query) <= first_keys.second) {
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (first_keys.are_one_of(a.seen_by(query + n * 8 + result_place(lane, e).col))) dprobs[n][e] = 0;
    }
    block_by_rows<S, kWidth, N>(scores, q + kDc, dv);
    block_by_rows<S, kWidth, N>(dprobs, q, dk);
    head = next_head;
    query = next_query;
  }
  const float one[2] = {1, 1};
  store_result<S, kWidth>(dk, one, gradient.dk, token, warp_row, count, at.head, a.head_dim);
  store_result<S, kWidth>(dv, one, gradient.dv, token, warp_row, count, at.head, a.head_dim);
}

/// Calls body(std::integral_constant<int, width>) with the smallest tile width that holds a head. The paper's
/// models have heads of 96.
template <class Body>
void with_half_width(int64_t head_dim, Body&& body) {
  if (head_dim <= 64) return body(std::integral_constant<int, 64>{});
  if (head_dim <= 96) return body(std::integral_constant<int, 96>{});
  return body(std::integral_constant<int, 128>{});
}

template <class S>
void forward(const Operation& operation, const AttentionView<S>& a, HeadRows<S> context) {
  const int64_t tiles = pieces(a.seq, kBlockRows);
  with_half_width(a.head_dim, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    constexpr size_t kBytes = sizeof(S) * 4 * kBlockRows * kRowStride<kWidth>;
    with_asked(a, [&](const auto& asked) {
      using A = std::decay_t<decltype(asked)>;
      operation.launch(half_attention_kernel<kWidth, A>, a.batch * a.heads * tiles, kBlockThreads, kBytes,
                       asked, context, tiles);
    });
  });
}

template <class S>
void backward(const Operation& operation, const AttentionView<S>& a, const AttentionGradView<S>& gradient) {
  const int64_t tiles = pieces(a.seq, kBlockRows);
  with_half_width(a.head_dim, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    constexpr int kOthers = kWidth <= 64 ? 64 : 32;
    constexpr size_t kRowBytes = sizeof(S) * kRowStride<kWidth>;
    with_asked(a, [&](const auto& asked) {
      using A = std::decay_t<decltype(asked)>;
      operation.launch(half_query_grad_kernel<kWidth, A>, a.batch * a.heads * tiles, kBlockThreads,
                       2 * (kBlockRows + kOthers) * kRowBytes, asked, gradient, tiles);
      operation.launch(half_key_grad_kernel<kWidth, A>, a.batch * a.keys.heads * tiles, kBlockThreads,
                       (2 * kBlockRows + 4 * kOthers) * kRowBytes, asked, gradient, tiles);
    });
  });
}

}  // namespace

void attention_on_matrix_units(const Operation& operation, const AttentionView<__nv_bfloat16>& a,
                               HeadRows<__nv_bfloat16> context) {
  forward(operation, a, context);
}
void attention_on_matrix_units(const Operation& operation, const AttentionView<__half>& a,
                               HeadRows<__half> context) {
  forward(operation, a, context);
}
void attention_grad_on_matrix_units(const Operation& operation, const AttentionView<__nv_bfloat16>& a,
                                    const AttentionGradView<__nv_bfloat16>& gradient) {
  backward(operation, a, gradient);
}
void attention_grad_on_matrix_units(const Operation& operation, const AttentionView<__half>& a,
                                    const AttentionGradView<__half>& gradient) {
  backward(operation, a, gradient);
}

}  // namespace shardlens::cuda
