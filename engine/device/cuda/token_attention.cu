// Attention of one new token of each sequence to its cache of keys and values. A block takes a head's piece
// of the keys, all of which it asks for at once, and the last block of a head combines the pieces in their
// order: so a short text keeps more of the GPU busy than one block for each head would. As one operation with
// the append, the block whose piece has the new token's position takes its key and value from where they are
// computed, and one of the heads that read them writes them to the cache.
//
// Pieces begin at multiples of kPieceKeys, so a head's bits do not depend on the other heads or on the
// cache's room. Everything between the operands and the results is fp32.
#include "engine/device/cuda/apart.h"
#include "engine/device/cuda/attention.cuh"
#include "engine/device/cuda/last_block.cuh"
#include "engine/device/cuda/positions.cuh"
#include "engine/device/cuda/tokens.h"
#include "engine/device/token_parts.h"

namespace shardlens::cuda {

namespace {

constexpr int kThreads = 128, kPieceKeys = 64;
constexpr int kMostDims = 128;                      // of a head
constexpr int kKeyThreads = kThreads / kPieceKeys;  // that share a key's score
/// The packs of a row of a head, at most.
template <class S>
constexpr int kMostPacks = kMostDims / kLanes<S>;
/// The threads that share a pack's sum over the keys.
template <class S>
constexpr int kKeyGroups = kThreads / kMostPacks<S>;
static_assert(kPieceKeys == 64, "a lane has two keys when the piece's scores are compared");

/// One call, for kernels. A (sequence, head) pair is counted as sequence · heads + head.
template <class S>
struct TokenView {
  Positions positions;
  Fault* fault;
  int64_t heads, head_dim, room;
  KeyHeads shared;
  float scale;
  HeadRows<const S> q, fresh_k, fresh_v;  // the last two only if the operation appends
  S *keys, *values;                       // the cache, [batch * room, shared.heads, head_dim]
  S *probs, *context;
  bool appends, aligned;
  // Of this launch.
  int64_t first_pair, pieces_of_room;
  float *scores, *parts;  // [pairs, room] and [pairs, pieces, 2 + kMostDims]: top, Σ and Σ·V of a piece
  unsigned* tickets;      // [pairs]

  __device__ __forceinline__ int packs() const { return static_cast<int>(pieces(head_dim, kLanes<S>)); }
  /// The distance of keys in shared memory, in packs: eight packs that are read together lie in different
  /// banks.
  SHARDLENS_BOTH static int key_stride(int64_t dims) {
    return static_cast<int>((pieces(dims, kLanes<S>) + 5) / 8 * 8 + 2);
  }
  static size_t shared_bytes(int64_t dims) {
    const auto packs = static_cast<size_t>(pieces(dims, kLanes<S>));
    return (static_cast<size_t>(key_stride(dims)) + packs) * kPieceKeys * 16;
  }

  /// Starts the copy of a pack of a row, or copies it element by element, with 0 behind the row's end.
  __device__ __forceinline__ void copy(Pack<S>* to, const S* row, int pack, bool exists) const {
    const S* const from = row + pack * kLanes<S>;
    if (aligned) return ask_for_copy<16>(to, from, exists);
#pragma unroll
    for (int lane = 0; lane < kLanes<S>; ++lane)
      to->lane[lane] = exists && pack * kLanes<S> + lane < head_dim ? from[lane] : narrow<S>(0.0f);
  }
};

/// Σ over a piece's keys and where it was computed: its part of C is relative to its own largest score.
struct Piece {
  float top, sum;
};

template <class S>
__global__ void __launch_bounds__(kThreads) token_attention_kernel(TokenView<S> a) {
  __shared__ float query[kMostDims], score[kPieceKeys], weight[kPieceKeys];
  __shared__ float added[kKeyGroups<S>][kMostDims];
  const int packs = a.packs(), key_stride = TokenView<S>::key_stride(a.head_dim);
  auto* const k = reinterpret_cast<Pack<S>*>(block_memory());  // [kPieceKeys, key_stride]
  Pack<S>* const v = k + kPieceKeys * key_stride;              // [kPieceKeys, packs]
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const int64_t of_launch = blockIdx.x / a.pieces_of_room, piece = blockIdx.x % a.pieces_of_room;
  const int64_t pair = a.first_pair + of_launch, sequence = pair / a.heads, head = pair % a.heads;
  const int64_t key_head = key_head_of(a.shared, head);
  const int64_t told = a.positions.first(sequence);
  const int64_t position = told < 0 ? 0 : told >= a.room ? a.room - 1 : told;  // see check_few()
  const int64_t first = piece * kPieceKeys, live = position / kPieceKeys + 1;
  const int64_t left = position + 1 - first;
  const int count = static_cast<int>(left < 0 ? 0 : left < kPieceKeys ? left : kPieceKeys);
  const bool has_fresh = a.appends && a.positions.fit(told) && piece == live - 1;
  S* const probs = a.probs + pair * a.room;

  const int old = has_fresh ? count - 1 : count;
  if (piece < live) {
    for (int i = thread; i < kPieceKeys * packs; i += kThreads) {
      const int key = i / packs, pack = i % packs;
      if (has_fresh && key == old) continue;
      const int64_t row = (sequence * a.room + first + key) * a.shared.heads + key_head;
      a.copy(&k[key * key_stride + pack], a.keys + row * a.head_dim, pack, key < old);
      a.copy(&v[key * packs + pack], a.values + row * a.head_dim, pack, key < old);
    }
  }
  let_next_kernel_begin();
  wait_for_kernel_before();
  if (pair == 0 && piece == 0 && thread == 0) a.positions.check_few(a.fault);
  for (int64_t col = first + thread; col < first + kPieceKeys && col < a.room; col += kThreads)
    if (col > position) probs[col] = narrow<S>(0.0f);
  if (piece >= live) return;

  if (has_fresh && thread < packs) {
    const S* const fresh_k = a.fresh_k.at(sequence, key_head, a.head_dim);
    const S* const fresh_v = a.fresh_v.at(sequence, key_head, a.head_dim);
    a.copy(&k[old * key_stride + thread], fresh_k, thread, true);
    a.copy(&v[old * packs + thread], fresh_v, thread, true);
    if (readers_of(a.shared, a.heads, key_head).begin == head) {
      const int64_t row = (sequence * a.room + position) * a.shared.heads + key_head;
      const int64_t at = thread * kLanes<S>;
      float pack[kLanes<S>];
      load_pack(fresh_k + at, a.head_dim - at, a.aligned, 0.0f, pack);
      store_pack(a.keys + row * a.head_dim + at, a.head_dim - at, a.aligned, pack);
      load_pack(fresh_v + at, a.head_dim - at, a.aligned, 0.0f, pack);
      store_pack(a.values + row * a.head_dim + at, a.head_dim - at, a.aligned, pack);
    }
  }
  query[thread] = thread < a.head_dim ? widen(a.q.at(sequence, head, a.head_dim)[thread]) : 0.0f;
  wait_for_copies();
  __syncthreads();

  const int own_key = thread / kKeyThreads;
  float own_score = 0;
  for (int pack = thread % kKeyThreads; pack < packs; pack += kKeyThreads) {
    const Pack<S> numbers = k[own_key * key_stride + pack];
#pragma unroll
    for (int l = 0; l < kLanes<S>; ++l)
      own_score = fma(query[pack * kLanes<S> + l], widen(numbers.lane[l]), own_score);
  }
  own_score += __shfl_xor_sync(0xFFFFFFFFu, own_score, 1);
  if (thread % kKeyThreads == 0) score[own_key] = times(own_score, a.scale);
  __syncthreads();

  // Every warp computes the piece's statistics, each lane with two keys.
  Piece own{kMinusInfinity<float>, 0};
  float lifted[2];
#pragma unroll
  for (int i = 0; i < 2; ++i)  // a NaN does not count here, but does below
    if (lane + 32 * i < count && score[lane + 32 * i] > own.top) own.top = score[lane + 32 * i];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xFFFFFFFFu, own.top, offset);
    own.top = other > own.top ? other : own.top;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
    lifted[i] = lane + 32 * i < count ? std::exp(score[lane + 32 * i] - own.top) : 0.0f;
  own.sum = lifted[0] + lifted[1];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) own.sum += __shfl_xor_sync(0xFFFFFFFFu, own.sum, offset);
  if (thread < 32) {
    weight[lane] = lifted[0];
    weight[lane + 32] = lifted[1];
  }
  __syncthreads();

  const int own_pack = thread % kMostPacks<S>, group = thread / kMostPacks<S>;
  float sum[kLanes<S>] = {};
  if (own_pack < packs)
    for (int key = group; key < count; key += kKeyGroups<S>) {
      const Pack<S> numbers = v[key * packs + own_pack];
#pragma unroll
      for (int l = 0; l < kLanes<S>; ++l) sum[l] = fma(weight[key], widen(numbers.lane[l]), sum[l]);
    }
#pragma unroll
  for (int l = 0; l < kLanes<S>; ++l) added[group][own_pack * kLanes<S> + l] = sum[l];
  __syncthreads();
  float total = added[0][thread];
#pragma unroll
  for (int other = 1; other < kKeyGroups<S>; ++other) total += added[other][thread];

  constexpr int kPart = 2 + kMostDims;
  float* const parts = a.parts + of_launch * a.pieces_of_room * kPart;
  float* const scores = a.scores + of_launch * a.room;
  parts[piece * kPart + 2 + thread] = total;
  if (thread == 0) {
    parts[piece * kPart] = own.top;
    parts[piece * kPart + 1] = own.sum;
  }
  if (thread < count) scores[first + thread] = score[thread];
  if (!is_last_block(a.tickets + of_launch, static_cast<unsigned>(live))) return;

  float top = kMinusInfinity<float>, all = 0, c = 0;
  for (int64_t p = 0; p < live; ++p) {
    const float other = __ldcg(parts + p * kPart);
    top = other > top ? other : top;
  }
  for (int64_t p = 0; p < live; ++p) {
    const float* const part = parts + p * kPart;
    const float factor = std::exp(__ldcg(part) - top);
    all = fma(factor, __ldcg(part + 1), all);
    c = fma(factor, __ldcg(part + 2 + thread), c);
  }
  const float inverse = 1.0f / all;
  if (thread < a.head_dim) a.context[pair * a.head_dim + thread] = narrow<S>(c * inverse);
  for (int64_t col = thread; col <= position; col += kThreads)
    probs[col] = narrow<S>(probability(__ldcg(scores + col), top, inverse));
}
static_assert(kMostDims == kThreads, "a thread has one of C's elements");

/// `append` may be null: the cache has the new rows already.
template <class S>
void attend(const Operation& operation, const CacheAppend* append, const CachedAttention& op, Fault* fault) {
  const CacheShape& cache = op.shape;
  const int64_t dims = cache.head_dim;
  const KeyHeads shared = cache.grouped ? cache.keys : KeyHeads{cache.heads, 1, 0};
  const HeadRows<const S> q(static_cast<const S*>(op.qkv), cache.grouped ? 1 : 3, 0, cache.heads, dims);
  TokenView<S> a{Positions(cache),
                 fault,
                 cache.heads,
                 dims,
                 cache.room,
                 shared,
                 1.0f / std::sqrt(static_cast<float>(dims)),
                 q,
                 {},
                 {},
                 // The operation that reads the cache does not write it.
                 static_cast<S*>(const_cast<void*>(op.keys)),
                 static_cast<S*>(const_cast<void*>(op.values)),
                 static_cast<S*>(op.probs),
                 static_cast<S*>(op.context),
                 append != nullptr,
                 rows_aligned<S>(dims, op.qkv, op.keys, op.values, append == nullptr ? nullptr : append->qkv),
                 0,
                 pieces(cache.room, kPieceKeys),
                 nullptr,
                 nullptr,
                 operation.tickets()};
  if (append != nullptr) {
    const auto* const fresh = static_cast<const S*>(append->qkv);
    const int64_t parts = cache.grouped ? 2 : 3;  // K and V are the last two
    a.fresh_k = HeadRows<const S>(fresh, parts, parts - 2, shared.heads, dims);
    a.fresh_v = HeadRows<const S>(fresh, parts, parts - 1, shared.heads, dims);
  }
  const int64_t pairs = cache.batch * cache.heads;
  const int64_t floats = cache.room + a.pieces_of_room * (2 + kMostDims);
  const int64_t most = std::min(CudaDevice::kTickets,
                                static_cast<int64_t>(operation.scratch_bytes() / sizeof(float)) / floats);
  for (; a.first_pair < pairs; a.first_pair += most) {
    const int64_t now = std::min(most, pairs - a.first_pair);
    a.scores = operation.scratch<float>();
    a.parts = a.scores + now * cache.room;
    operation.launch_for_token(token_attention_kernel<S>, now * a.pieces_of_room, kThreads,
                               TokenView<S>::shared_bytes(dims), a);
  }
}

bool has_a_reader_of_each(const CacheShape& cache) {
  if (!cache.grouped) return true;
  for (int64_t key = 0; key < cache.keys.heads; ++key) {
    const Readers readers = readers_of(cache.keys, cache.heads, key);
    if (readers.begin == readers.end) return false;
  }
  return true;
}

}  // namespace

bool suits_token_attention(const CacheShape& cache) {
  return Positions(cache).are_few() && cache.batch > 0 && cache.heads > 0 && cache.head_dim <= kMostDims &&
         cache.dtype != DType::Fp64;
}

void CudaDevice::attend_token(const CacheAppend* append, const CachedAttention& op) {
  with_element_type(op.shape.dtype, "attention of a token", [&](auto zero) {
    using S = decltype(zero);
    if constexpr (std::is_same_v<Computed<S>, float>)
      attend<S>(Operation(*this, "attention of a token"), append, op, fault_);
  });
}

void CudaDevice::token_attention(const TokenAttention& op) {
  const CacheShape &cache = op.attention.shape, &fresh = op.append.shape;
  const int64_t heads = fresh.grouped ? fresh.keys.heads : fresh.heads, parts = fresh.grouped ? 2 : 3;
  const int64_t pairs = cache.batch * cache.heads;
  const bool apart = are_apart({{op.append.qkv, fresh.batch * parts * heads * fresh.head_dim, cache.dtype}},
                               {{op.attention.context, pairs * cache.head_dim, cache.dtype},
                                {op.attention.probs, pairs * cache.room, cache.dtype}});
  const bool same = op.append.keys == op.attention.keys && op.append.values == op.attention.values;
  if (!suits_token_attention(cache) || !apart || !same || !has_a_reader_of_each(cache))
    return token_attention_in_parts(*this, op);
  attend_token(&op.append, op.attention);
}

}  // namespace shardlens::cuda
