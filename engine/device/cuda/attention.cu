// Attention's forward pass, without and with a cache of keys. The scores of a tile of queries and keys are
// only in shared memory. P is written only if the Program keeps it.
//
// These are our own kernels, not cuDNN's fused attention. The Program needs a stored P, the statistics of
// each row (largest scaled score, 1/Σ), masks drawn by global element from our generator, uneven groups of
// query heads, and fp32 and fp64. cuDNN's attention has none of the first three.
#include "engine/device/cuda/attention_half.cuh"
#include "engine/device/cuda/attention_tiles.cuh"
#include "engine/device/cuda/tokens.h"

namespace shardlens::cuda {

namespace {

/// The scores of a tile. A hidden key's score is kHidden. `counts` is true for the elements that a query
/// sees.
template <class S, int kWidth>
struct Scores {
  using T = Computed<S>;
  using Size = Tile<T, kWidth>;
  typename Size::Part score;
  bool counts[Size::kPer][Size::kPer];

  /// For keys from `key` on and query rows from `query` on. The first query's position is `first`.
  __device__ Scores(const AttentionView<S>& a, const typename Size::Matrix& q, const typename Size::Matrix& k,
                    int64_t sequence, int64_t first, int64_t query, int64_t key) {
    multiply_rows<T, kWidth>(q, k, a.head_dim, score);
#pragma unroll
    for (int i = 0; i < Size::kPer; ++i) {
      const int64_t row = query + tile_y() + kSide * i;
      const int64_t seen = row < a.seq ? a.seen(first + row) : 0;
#pragma unroll
      for (int j = 0; j < Size::kPer; ++j) {
        const int64_t col = key + tile_x() + kSide * j;
        counts[i][j] = col < seen;
        if (counts[i][j] && a.mask != nullptr && a.mask[sequence * a.room + col] == 0)
          score[i][j] = kHidden<T>;
      }
    }
  }
};

/// Two passes over the keys. The first one computes the rows' statistics. The second one computes P with
/// them, stores it if the Program keeps it, and adds up P·V. So P and C follow their definitions, up to
/// rounding.
template <class S, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 1)
    attention_kernel(AttentionView<S> a, HeadRows<S> context, int64_t tiles) {
  using T = Computed<S>;
  using Size = Tile<T, kWidth>;
  constexpr int kPer = Size::kPer;
  unsigned char* memory = block_memory();
  auto* matrices = reinterpret_cast<typename Size::Matrix*>(memory);
  auto &q = matrices[0], &kv = matrices[1];
  auto& block = *reinterpret_cast<typename Size::Block*>(matrices + 2);

  const TilePlace at(blockIdx.x, a.batch, a.heads, tiles, a.causal);
  const int64_t query = at.tile * Size::kRows;
  const int64_t rows = a.seq - query < Size::kRows ? a.seq - query : Size::kRows;
  const int64_t first = a.first_position(at.sequence), token = at.sequence * a.seq + query;
  const int64_t key_head = key_head_of(a.keys, at.head), first_key = at.sequence * a.room;
  const int64_t end = a.seen(first + query + rows - 1);  // of the keys that at least one row sees
  const auto left = [end](int64_t key) { return end - key < Size::kRows ? end - key : Size::kRows; };
  load_tile<T, kWidth>(a.q, token, rows, at.head, a.head_dim, q);

  T top[kPer], sum[kPer];
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    top[i] = kMinusInfinity<T>;
    sum[i] = 0;
  }
  for (int64_t key = 0; key < end; key += Size::kRows) {
    __syncthreads();  // the tile before has been read
    load_tile<T, kWidth>(a.k, first_key + key, left(key), key_head, a.head_dim, kv);
    __syncthreads();
    const Scores<S, kWidth> scores(a, q, kv, at.sequence, first, query, key);
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      T largest = kMinusInfinity<T>;  // a NaN does not count here, but does below
#pragma unroll
      for (int j = 0; j < kPer; ++j)
        if (scores.counts[i][j] && scores.score[i][j] > largest) largest = scores.score[i][j];
#pragma unroll
      for (int offset = kSide / 2; offset > 0; offset /= 2) {
        const T other = __shfl_xor_sync(0xFFFFFFFFu, largest, offset);
        largest = other > largest ? other : largest;
      }
      const T scaled = times(largest, a.scale), higher = scaled > top[i] ? scaled : top[i];
      T part = 0;
#pragma unroll
      for (int j = 0; j < kPer; ++j)
        if (scores.counts[i][j]) part += std::exp(times(scores.score[i][j], a.scale) - higher);
#pragma unroll
      for (int offset = kSide / 2; offset > 0; offset /= 2)
        part += __shfl_xor_sync(0xFFFFFFFFu, part, offset);
      sum[i] = (higher == top[i] ? sum[i] : sum[i] * std::exp(top[i] - higher)) + part;
      top[i] = higher;
    }
  }
  T inverse[kPer];
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    inverse[i] = T(1) / sum[i];
    const int row = tile_y() + kSide * i;
    if (a.kept == nullptr || row >= rows || tile_x() != 0) continue;
    T* kept = a.kept + ((token + row) * a.heads + at.head) * 2;
    kept[0] = top[i];
    kept[1] = inverse[i];
  }

  typename Size::Rows result{};
  for (int64_t key = 0; key < end; key += Size::kRows) {
    __syncthreads();
    load_tile<T, kWidth>(a.k, first_key + key, left(key), key_head, a.head_dim, kv);
    __syncthreads();
    const Scores<S, kWidth> scores(a, q, kv, at.sequence, first, query, key);
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      const int row = tile_y() + kSide * i;
      S* kept = a.probs == nullptr ? nullptr : a.probs + ((token + row) * a.heads + at.head) * a.room;
      const int64_t draw = a.has_dropout ? a.first_draw(at.sequence, at.head, query + row) : 0;
#pragma unroll
      for (int j = 0; j < kPer; ++j) {
        const int64_t col = key + tile_x() + kSide * j;
        T prob =
            scores.counts[i][j] ? probability(times(scores.score[i][j], a.scale), top[i], inverse[i]) : T(0);
        if (kept != nullptr && row < rows && col < end) kept[col] = narrow<S>(prob);
        if (a.has_dropout && scores.counts[i][j]) {
          MaskReader mask(a.dropping);
          prob = mask.drops(draw + col) ? T(0) : prob * static_cast<T>(a.dropping.scale);
        }
        block[row][tile_x() + kSide * j] = prob;
      }
    }
    __syncthreads();  // K has been read, P written
    load_tile<T, kWidth>(a.v, first_key + key, left(key), key_head, a.head_dim, kv);
    __syncthreads();
    add_product<T, kWidth, false>(block, kv, result);
  }
  store_rows<T, kWidth>(result, context, token, rows, at.head, a.head_dim);
  if (a.probs == nullptr) return;
  for (int row = tile_y(); row < rows; row += kSide) {
    S* kept = a.probs + ((token + row) * a.heads + at.head) * a.room;
    for (int64_t col = end + tile_x(); col < a.room; col += kSide) kept[col] = narrow<S>(T(0));
  }
}

template <class S>
void forward(const Operation& operation, const AttentionView<S>& a, void* context) {
  // If there are more queries than the cache has room for, check_positions() reports it.
  if (a.batch * a.seq * a.heads == 0 || a.seq > a.room) return;
  if constexpr (kIsHalf<S>) {
    const HeadRows<S> rows(static_cast<S*>(context), 1, 0, a.heads, a.head_dim);
    if (suits_matrix_units(a) && rows_aligned<S>(kLanes<S>, rows.first))
      return attention_on_matrix_units(operation, a, rows);
  }
  with_width(a.head_dim, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    using Size = Tile<Computed<S>, kWidth>;
    const int64_t tiles = pieces(a.seq, Size::kRows);
    operation.launch(attention_kernel<S, kWidth>, a.batch * a.heads * tiles, kTileThreads, Size::bytes(2, 1),
                     a, HeadRows<S>(static_cast<S*>(context), 1, 0, a.heads, a.head_dim), tiles);
  });
}

}  // namespace

void CudaDevice::attention(const Attention& op) {
  with_element_type(op.dtype, "attention", [&](auto zero) {
    using S = decltype(zero);
    forward<S>(Operation(*this, "attention"), view<S>(op), op.context);
  });
}

void CudaDevice::cached_attention(const CachedAttention& op) {
  const CacheShape& cache = op.shape;
  if (suits_token_attention(cache)) return attend_token(nullptr, op);
  with_element_type(cache.dtype, "attention with a cache", [&](auto zero) {
    using S = decltype(zero);
    const Operation operation(*this, "attention with a cache");
    check_positions(operation, cache);
    AttentionView<S> a;
    a.batch = cache.batch;
    a.seq = cache.seq;
    a.room = cache.room;
    a.heads = cache.heads;
    a.head_dim = cache.head_dim;
    a.keys = cache.grouped ? cache.keys : KeyHeads{cache.heads, 1, 0};
    a.causal = true;
    a.scale = Computed<S>(1) / std::sqrt(static_cast<Computed<S>>(cache.head_dim));
    a.positions = cache.positions;
    a.q = HeadRows<const S>(static_cast<const S*>(op.qkv), cache.grouped ? 1 : 3, 0, cache.heads,
                            cache.head_dim);
    a.k = HeadRows<const S>(static_cast<const S*>(op.keys), 1, 0, a.keys.heads, cache.head_dim);
    a.v = HeadRows<const S>(static_cast<const S*>(op.values), 1, 0, a.keys.heads, cache.head_dim);
    a.probs = static_cast<S*>(op.probs);
    forward<S>(operation, a, op.context);
  });
}

}  // namespace shardlens::cuda
