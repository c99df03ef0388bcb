// Attention's forward pass in 16 bits on the matrix units (attention_half_tiles.cuh).
#include "engine/device/cuda/attention_half.cuh"
#include "engine/device/cuda/attention_half_tiles.cuh"

namespace shardlens::cuda {

namespace {

constexpr int kKeys = 64;  // at a time

/// Wider heads have 16 rows a warp: C and the scores of 32 rows are 192 registers for heads of 128, and the
/// compiler spills 16.
constexpr int kWidestOfTwoTiles = 96;

/// The columns of 16 of Q that a warp keeps in registers: all of them, or none where C takes too many.
template <int kWidth, int kTiles>
constexpr int kKeptOfQ = kTiles == 1 || kWidth <= 64 ? kWidth / 16 : 0;

/// The rows in shared memory are two turns of K and V. Q comes where the second turn will be, or, if it is
/// read again, behind it.
template <int kWidth, int kTiles>
constexpr int kFirstRowOfQ = kKeptOfQ<kWidth, kTiles> > 0 ? 2 * kKeys : 4 * kKeys;
template <int kWidth, int kTiles>
constexpr int kSharedRows = std::max(4 * kKeys, kFirstRowOfQ<kWidth, kTiles> + kHalfRows<kTiles>);
template <class S, int kWidth, int kTiles>
constexpr size_t kSharedBytes = sizeof(S) * kRowStride<kWidth>* kSharedRows<kWidth, kTiles>;

/// Sets scores to -infinity if the query does not see the key, and to kHiddenScore if no query may see it.
template <int kTiles, class A, int N>
__device__ __forceinline__ void hide(const A& a, const OwnQueries<kTiles>& own, int64_t sequence, int key,
                                     float (&scores)[kTiles][N][4]) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int first = key + result_place(static_cast<int>(threadIdx.x) % 32, 2 * half).col;
      const int left = own.seen[tile][half] - first;
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[tile][n][2 * half + e];
          if (n * 8 + e >= left)
            score = -INFINITY;
          else if (a.masks() && a.mask[sequence * a.room + first + n * 8 + e] == 0)
            score = kHiddenScore;
        }
    }
}

/// One pass over the keys. Results are rescaled when a row's largest score grows. If P is stored there is a
/// second pass, because it needs the rows' statistics.
template <int kWidth, int kTiles, class A>
__global__ void __launch_bounds__(kHalfThreads)
    half_attention_kernel(A a, HeadRows<typename A::S> context, int64_t tiles) {
  using S = typename A::S;
  constexpr int N = kKeys / 8, kBlockRows = kHalfRows<kTiles>;
  constexpr int kV = kKeys * kRowStride<kWidth>, kTurn = 2 * kV;  // offsets of V from K, and of the other K
  S* tile = reinterpret_cast<S*>(block_memory());
  S* own_rows = tile + kFirstRowOfQ<kWidth, kTiles> * kRowStride<kWidth>;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = first_row_of_warp<kTiles>();

  const auto [at, query, rows, token] = BlockQueries::of<kTiles>(a, blockIdx.x, tiles);
  const int first = static_cast<int>(a.first_position(at.sequence));
  const int64_t key_head = key_head_of(a.keys, at.head), first_key = at.sequence * a.room;
  const int end = a.seen_by(first + query + rows - 1);  // of the keys that at least one row sees
  const OwnQueries<kTiles> own(a, query + warp_row, first);
  const RowCopies<S, kWidth> keys(a.k, first_key, end, key_head, a.head_dim);
  const auto ask_for_keys = [&](int key, S* to) { keys.template ask<kKeys>(key, to); };
  const auto ask_for_values = [&](int key, S* to) {
    keys.template ask<kKeys>(key, to + kV, a.v.first - a.k.first);
  };
  ask_for_rows<S, kWidth, kBlockRows>(a.q, token, rows, at.head, a.head_dim, own_rows);
  ask_for_keys(0, tile);
  ask_for_values(0, tile);
  wait_for_copies();
  __syncthreads();
  const LeftRows<S, kWidth, kTiles, kKeptOfQ<kWidth, kTiles>> q(own_rows + warp_row * kRowStride<kWidth>);

  const float scale = in_base_2(a.scale);
  float result[kTiles][kWidth / 8][4] = {}, top[kTiles][2], sum[kTiles][2] = {};
#pragma unroll
  for (int i = 0; i < kTiles; ++i) top[i][0] = top[i][1] = -INFINITY;
  int turn = 0;
  for (int key = 0; key < end; key += kKeys) {
    wait_for_copies();
    __syncthreads();  // these tiles have come, and what lies where the next will come has been read
    const S* k = tile + turn;
    turn = kTurn - turn;
    if (key + kKeys < end) {
      ask_for_keys(key + kKeys, tile + turn);
      ask_for_values(key + kKeys, tile + turn);
    }
    if (kTiles > 1 && key >= own.end) continue;  // as with 16 rows a warp, which have shorter blocks
    float scores[kTiles][N][4] = {};
    rows_by_rows(q, k, scores);
    if (a.masks() || key + kKeys > own.all_see) hide(a, own, at.sequence, key, scores);
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float largest = -INFINITY;
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) largest = fmaxf(largest, scores[i][n][e]);
        largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, 2));
        const float higher = fmaxf(top[i][half], times(largest, a.scale));
        const float base = in_base_2(higher);
        const float shrink = higher == top[i][half] ? 1.0f : power_of_2(in_base_2(top[i][half]) - base);
        top[i][half] = higher;
        sum[i][half] *= shrink;
#pragma unroll
        for (int n = 0; n < kWidth / 8; ++n)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) result[i][n][e] *= shrink;
        MaskReader mask(a.dropping);
        const int64_t draw = a.drops() ? a.first_draw(at.sequence, at.head, own.query[i][half]) + key : 0;
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            const float unscaled = exponential(a, scale, scores[i][n][e], base);
            sum[i][half] += unscaled;
            const bool dropped = a.drops() && mask.drops(draw + n * 8 + result_place(lane, e).col);
            scores[i][n][e] = dropped ? 0.0f : unscaled;
          }
      }
    block_by_rows<S, kWidth>(scores, k + kV, result);
  }

  const BlockQueries stored = BlockQueries::of<kTiles>(a, block_read_again(), tiles);
  float inverse[kTiles][2], factor[kTiles][2];
#pragma unroll
  for (int i = 0; i < kTiles; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      sum[i][half] += __shfl_xor_sync(0xFFFFFFFFu, sum[i][half], 1);
      sum[i][half] += __shfl_xor_sync(0xFFFFFFFFu, sum[i][half], 2);
      inverse[i][half] = 1.0f / sum[i][half];
      factor[i][half] =
          a.drops() ? inverse[i][half] * static_cast<float>(a.dropping.scale) : inverse[i][half];
      const int row = warp_row + 16 * i + result_place(lane, 2 * half).row;
      if (a.kept == nullptr || lane % 4 != 0 || row >= stored.rows) continue;
      float* kept = a.kept + ((stored.token + row) * a.heads + stored.at.head) * 2;
      kept[0] = top[i][half];
      kept[1] = inverse[i][half];
    }
  store_result<S, kWidth>(result, factor, context, stored.token, warp_row, stored.rows, stored.at.head,
                          a.head_dim);
  if (!a.keeps()) return;

  for (int key = 0; key < end; key += kKeys) {
    __syncthreads();  // the tile before has been read
    ask_for_keys(key, tile);
    wait_for_copies();
    __syncthreads();
    float scores[kTiles][N][4] = {};
    rows_by_rows(q, tile, scores);
    if (a.masks() || key + kKeys > own.all_see) hide(a, own, at.sequence, key, scores);
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int own_query = own.query[i][e / 2];
        if (own_query >= a.seq) continue;
        S* kept = a.probs + ((at.sequence * a.seq + own_query) * a.heads + at.head) * a.room;
        const float base = in_base_2(top[i][e / 2]);
#pragma unroll
        for (int n = 0; n < N; ++n) {
          const int col = key + n * 8 + result_place(lane, e).col;
          if (col < end)
            kept[col] = narrow<S>(exponential(a, scale, scores[i][n][e], base) * inverse[i][e / 2]);
        }
      }
  }
  for (int row = static_cast<int>(threadIdx.x) / 32; row < rows; row += kHalfWarps) {
    S* kept = a.probs + ((token + row) * a.heads + at.head) * a.room;
    for (int64_t col = end + lane; col < a.room; col += 32) kept[col] = narrow<S>(0.0f);
  }
}

template <class S>
void forward(const Operation& operation, const AttentionView<S>& a, HeadRows<S> context) {
  const AttentionRows rows{a.batch * a.heads, a.seq, a.room, a.causal, operation.multiprocessors()};
  with_half_width(a.head_dim, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    with_asked(a, [&](const auto& asked) {
      using A = std::decay_t<decltype(asked)>;
      const auto launch = [&](auto tiles_of_warp) {
        constexpr int kTiles = decltype(tiles_of_warp)::value;
        const int64_t tiles = pieces(a.seq, kHalfRows<kTiles>);
        operation.launch(half_attention_kernel<kWidth, kTiles, A>, a.batch * a.heads * tiles, kHalfThreads,
                         kSharedBytes<S, kWidth, kTiles>, asked, context, tiles);
      };
      if constexpr (A::kIsPlain && kWidth <= kWidestOfTwoTiles)
        if (rows.takes_two_tiles(kSharedBytes<S, kWidth, 2>, operation.shared_room()))
          return launch(std::integral_constant<int, 2>{});
      launch(std::integral_constant<int, 1>{});
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

}  // namespace shardlens::cuda
