// dK and dV in 16 bits on the matrix units (attention_half_tiles.cuh).
#include "engine/device/cuda/attention_half.cuh"
#include "engine/device/cuda/attention_half_tiles.cuh"

namespace shardlens::cuda {

namespace {

constexpr int kBlockRows = kHalfRows<1>;

/// Queries at a time.
template <int kWidth>
constexpr int kQueriesAtOnce = kWidth <= 64 ? 64 : 32;

/// dK and dV of 64 keys. The scores are transposed: a lane's rows are keys, and its columns are queries.
template <int kWidth, class A>
__global__ void __launch_bounds__(kHalfThreads)
    half_key_grad_kernel(A a, AttentionGradView<typename A::S> gradient, int64_t tiles) {
  using S = typename A::S;
  constexpr int kQueries = kQueriesAtOnce<kWidth>, N = kQueries / 8;
  constexpr int kDc = kQueries * kRowStride<kWidth>, kTurn = 2 * kDc;
  S* own_k = reinterpret_cast<S*>(block_memory());
  S* own_v = own_k + kBlockRows * kRowStride<kWidth>;
  S* tile = own_v + kBlockRows * kRowStride<kWidth>;
  __shared__ float tops[2 * kQueries], inverses[2 * kQueries], deltas[2 * kQueries];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = first_row_of_warp<1>();

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
  const LeftRows<S, kWidth, 1, 0> k(own_k + warp_row * kRowStride<kWidth>),
      v(own_v + warp_row * kRowStride<kWidth>);
  if (first_head < end_head) {
    ask_for_rows<S, kWidth, kBlockRows>(a.k, token, count, at.head, a.head_dim, own_k);
    ask_for_rows<S, kWidth, kBlockRows>(a.v, token, count, at.head, a.head_dim, own_v);
    ask_for_queries(first_head, first_query, 0);
  }
  const float scale = in_base_2(a.scale);
  const FirstKeys first_keys = a.first_keys(at.sequence);
  float dk[1][kWidth / 8][4] = {}, dv[1][kWidth / 8][4] = {};
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
    float all_scores[1][N][4] = {}, all_dprobs[1][N][4] = {};
    auto &scores = all_scores[0], &dprobs = all_dprobs[0];
    if (!a.keeps()) rows_by_rows(k, q, all_scores);
    rows_by_rows(v, q + kDc, all_dprobs);
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
    block_by_rows<S, kWidth>(all_scores, q + kDc, dv);
    block_by_rows<S, kWidth>(all_dprobs, q, dk);
    head = next_head;
    query = next_query;
  }
  const float one[1][2] = {{1, 1}};
  store_result<S, kWidth>(dk, one, gradient.dk, token, warp_row, count, at.head, a.head_dim);
  store_result<S, kWidth>(dv, one, gradient.dv, token, warp_row, count, at.head, a.head_dim);
}

template <class S>
void key_grad(const Operation& operation, const AttentionView<S>& a, const AttentionGradView<S>& gradient) {
  const int64_t tiles = pieces(a.seq, kBlockRows);
  with_half_width(a.head_dim, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    constexpr size_t kBytes = sizeof(S) * kRowStride<kWidth> * (2 * kBlockRows + 4 * kQueriesAtOnce<kWidth>);
    with_asked(a, [&](const auto& asked) {
      using A = std::decay_t<decltype(asked)>;
      operation.launch(half_key_grad_kernel<kWidth, A>, a.batch * a.keys.heads * tiles, kHalfThreads, kBytes,
                       asked, gradient, tiles);
    });
  });
}

}  // namespace

void key_grad_on_matrix_units(const Operation& operation, const AttentionView<__nv_bfloat16>& a,
                              const AttentionGradView<__nv_bfloat16>& gradient) {
  key_grad(operation, a, gradient);
}
void key_grad_on_matrix_units(const Operation& operation, const AttentionView<__half>& a,
                              const AttentionGradView<__half>& gradient) {
  key_grad(operation, a, gradient);
}

}  // namespace shardlens::cuda
