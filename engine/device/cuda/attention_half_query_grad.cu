// dQ in 16 bits on the matrix units (attention_half_tiles.cuh).
#include "engine/device/cuda/attention_half.cuh"
#include "engine/device/cuda/attention_half_tiles.cuh"

namespace shardlens::cuda {

namespace {

/// Keys at a time. The scores and dP of a warp take as many registers for 32 rows and 32 keys as for 16 rows
/// and 64 keys.
template <int kWidth, int kTiles>
constexpr int kKeys = kWidth <= 64 && kTiles == 1 ? 64 : 32;

/// The columns of 16 of Q and of dC that a warp keeps in registers: those for which dQ leaves room. For heads
/// of 96 the compiler spills a few numbers that it reads two or three times a tile of keys; with two or one
/// column it spills too, and without any the loop has six more loads from shared memory.
template <int kWidth, int kTiles>
constexpr int kKeptOfQ = kTiles == 1 || kWidth <= 64 ? kWidth / 16
                         : kWidth <= 96              ? 3
                                                     : 0;
template <int kWidth, int kTiles>
constexpr int kKeptOfDc = kTiles == 1 || kWidth <= 64 ? kWidth / 16 : 0;

/// The rows in shared memory are K and V, and then Q and dC. If all of these are kept, the second turn of K
/// and V comes in their place, else behind them.
template <int kWidth, int kTiles>
constexpr bool kIsKept = kKeptOfQ<kWidth, kTiles> + kKeptOfDc<kWidth, kTiles> == kWidth / 8;
template <int kWidth, int kTiles>
constexpr int kFirstOfTurn = 2 * kKeys<kWidth, kTiles> +
                             (kIsKept<kWidth, kTiles> ? 0 : 2 * kHalfRows<kTiles>);
template <int kWidth, int kTiles>
constexpr int kSharedRows = kIsKept<kWidth, kTiles>
                                ? 2 * (kKeys<kWidth, kTiles> + kHalfRows<kTiles>)
                                : kFirstOfTurn<kWidth, kTiles> + 2 * kKeys<kWidth, kTiles>;
template <class S, int kWidth, int kTiles>
constexpr size_t kSharedBytes = sizeof(S) * kRowStride<kWidth>* kSharedRows<kWidth, kTiles>;

/// The number of blocks of the next kernel for which an SM must have registers, if this costs no spills on
/// sm_90. (On sm_80 two registers are spilled: one load for each tile of keys.) 0: any.
template <int kWidth, int kTiles, class A>
constexpr int kQueryGradBlocks = kWidth <= 64 && kTiles == 1 && A::kIsPlain ? 3 : 0;

/// dQ of the block's queries.
template <int kWidth, int kTiles, class A>
__global__ void __launch_bounds__(kHalfThreads, kQueryGradBlocks<kWidth, kTiles, A>)
    half_query_grad_kernel(A a, AttentionGradView<typename A::S> gradient, int64_t tiles) {
  using S = typename A::S;
  constexpr int kAtOnce = kKeys<kWidth, kTiles>, N = kAtOnce / 8, kBlockRows = kHalfRows<kTiles>;
  constexpr int kV = kAtOnce * kRowStride<kWidth>, kTurn = kFirstOfTurn<kWidth, kTiles> * kRowStride<kWidth>;
  S* tile = reinterpret_cast<S*>(block_memory());
  S* own_rows = tile + 2 * kV;
  S* own_dc = own_rows + kBlockRows * kRowStride<kWidth>;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = first_row_of_warp<kTiles>();

  const auto [at, query, rows, token] = BlockQueries::of<kTiles>(a, blockIdx.x, tiles);
  const int64_t key_head = key_head_of(a.keys, at.head);
  const int end = a.seen_by(query + rows - 1);  // of the keys that at least one row sees
  const OwnQueries<kTiles> own(a, query + warp_row, 0);
  const RowCopies<S, kWidth> keys(a.k, at.sequence * a.room, end, key_head, a.head_dim);
  const auto ask_for_keys = [&](int key, S* to) {
    keys.template ask<kAtOnce>(key, to);
    keys.template ask<kAtOnce>(key, to + kV, a.v.first - a.k.first);
  };
  ask_for_rows<S, kWidth, kBlockRows>(a.q, token, rows, at.head, a.head_dim, own_rows);
  ask_for_rows<S, kWidth, kBlockRows>(gradient.dcontext, token, rows, at.head, a.head_dim, own_dc);
  ask_for_keys(0, tile);
  const float scale = in_base_2(a.scale);
  float top[kTiles][2] = {}, inverse[kTiles][2] = {}, delta[kTiles][2] = {};
#pragma unroll
  for (int i = 0; i < kTiles; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + 16 * i + result_place(lane, 2 * half).row;
      if (row >= rows) continue;
      const int64_t index = (token + row) * a.heads + at.head;
      delta[i][half] = gradient.delta[index];
      if (a.kept == nullptr) continue;
      top[i][half] = in_base_2(a.kept[2 * index]);
      inverse[i][half] = a.kept[2 * index + 1];
    }

  wait_for_copies();
  __syncthreads();
  const LeftRows<S, kWidth, kTiles, kKeptOfQ<kWidth, kTiles>> q(own_rows + warp_row * kRowStride<kWidth>);
  const LeftRows<S, kWidth, kTiles, kKeptOfDc<kWidth, kTiles>> dc(own_dc + warp_row * kRowStride<kWidth>);

  float result[kTiles][kWidth / 8][4] = {};
  int turn = 0;
  for (int key = 0; key < end; key += kAtOnce) {
    wait_for_copies();
    __syncthreads();  // these tiles have come, and what lies where the next will come has been read
    const S* k = tile + turn;
    turn = kTurn - turn;
    if (key + kAtOnce < end) ask_for_keys(key + kAtOnce, tile + turn);
    if (kTiles > 1 && key >= own.end) continue;
    float scores[kTiles][N][4] = {}, dprobs[kTiles][N][4] = {};
    if (!a.keeps()) rows_by_rows(q, k, scores);
    rows_by_rows(dc, k + kV, dprobs);
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int half = e / 2;
          scores[i][n][e] = probability_of(a, at.sequence, at.head, own.query[i][half], own.seen[i][half],
                                           key + n * 8 + result_place(lane, e).col, scale, scores[i][n][e],
                                           top[i][half], inverse[i][half]);
        }
    if (key + kAtOnce > own.all_see) {
#pragma unroll
      for (int i = 0; i < kTiles; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int left = own.seen[i][e / 2] - (key + result_place(lane, e).col);
#pragma unroll
          for (int n = 0; n < N; ++n)
            if (n * 8 >= left) scores[i][n][e] = 0;
        }
    }
#pragma unroll
    for (int i = 0; i < kTiles; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        MaskReader mask(a.dropping);
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            const float prob = scores[i][n][e];
            const float used = used_of(a, mask, at.sequence, at.head, own.query[i][half],
                                       key + n * 8 + result_place(lane, e).col, prob);
            scores[i][n][e] =
                scaled_gradient(prob, used, dprobs[i][n][e], delta[i][half], a.scale, a.drops());
          }
      }
    block_by_rows<S, kWidth>(scores, k, result);
  }
  const FirstKeys first_keys = a.first_keys(at.sequence);
  float factors[kTiles][2];
#pragma unroll
  for (int i = 0; i < kTiles; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      factors[i][half] = first_keys.are_one_of(own.seen[i][half]) ? 0.0f : 1.0f;
  store_result<S, kWidth>(result, factors, gradient.dq, token, warp_row, rows, at.head, a.head_dim);
}

template <class S>
void query_grad(const Operation& operation, const AttentionView<S>& a, const AttentionGradView<S>& gradient) {
  const AttentionRows rows{a.batch * a.heads, a.seq, a.room, a.causal, operation.multiprocessors()};
  with_half_width(a.head_dim, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    with_asked(a, [&](const auto& asked) {
      using A = std::decay_t<decltype(asked)>;
      const auto launch = [&](auto tiles_of_warp) {
        constexpr int kTiles = decltype(tiles_of_warp)::value;
        const int64_t tiles = pieces(a.seq, kHalfRows<kTiles>);
        operation.launch(half_query_grad_kernel<kWidth, kTiles, A>, a.batch * a.heads * tiles, kHalfThreads,
                         kSharedBytes<S, kWidth, kTiles>, asked, gradient, tiles);
      };
      if constexpr (A::kIsPlain)
        if (rows.takes_two_tiles(kSharedBytes<S, kWidth, 2>, operation.shared_room()))
          return launch(std::integral_constant<int, 2>{});
      launch(std::integral_constant<int, 1>{});
    });
  });
}

}  // namespace

void query_grad_on_matrix_units(const Operation& operation, const AttentionView<__nv_bfloat16>& a,
                                const AttentionGradView<__nv_bfloat16>& gradient) {
  query_grad(operation, a, gradient);
}
void query_grad_on_matrix_units(const Operation& operation, const AttentionView<__half>& a,
                                const AttentionGradView<__half>& gradient) {
  query_grad(operation, a, gradient);
}

}  // namespace shardlens::cuda
