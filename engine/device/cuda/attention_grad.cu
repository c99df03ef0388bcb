// Attention's backward pass in two kernels. They need no atomics, so the bits are the same every time. One
// kernel goes over the keys for a tile of queries and adds up dQ. The other one goes over the queries for a
// tile of keys, for one after the other of the heads that read it, and adds up dK and dV. Both read the
// stored P, or compute it again from the rows' statistics.
#include "engine/device/cuda/attention_half.cuh"
#include "engine/device/cuda/attention_tiles.cuh"

namespace shardlens::cuda {

namespace {

/// The lanes of a row of delta. A head of 128 in 16 bits is one pack for each of them.
constexpr int kDeltaLanes = 16;

/// delta[row] = factor · dC·C, over a row [head_dim] for every kDeltaLanes lanes, which load packs. The rows
/// are the tokens' heads in order. An element's lane and the order of the sums depend only on head_dim.
/// kWhole: all packs are aligned and whole.
template <class S, bool kWhole>
__global__ void delta_kernel(int64_t rows, int64_t head_dim, const S* context, const S* dcontext,
                             Computed<S> factor, Computed<S>* delta) {
  using T = Computed<S>;
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, row = thread / kDeltaLanes;
  const int64_t end = row < rows ? head_dim : 0;  // all lanes of the warp take part in the sums below
  T sum = 0;
  for (int64_t i = thread % kDeltaLanes * kLanes<S>; i < end; i += kDeltaLanes * kLanes<S>) {
    T c[kLanes<S>], dc[kLanes<S>];
    load_pack<kWhole>(context + row * head_dim + i, end - i, false, T(0), c);
    load_pack<kWhole>(dcontext + row * head_dim + i, end - i, false, T(0), dc);
#pragma unroll
    for (int lane = 0; lane < kLanes<S>; ++lane) sum += c[lane] * dc[lane];
  }
#pragma unroll
  for (int offset = kDeltaLanes / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
  if (thread % kDeltaLanes == 0 && row < rows) delta[row] = sum * factor;
}

/// Writes P∘M and dS of a tile of queries × keys into two blocks of shared memory, and 0 for pairs that do
/// not exist.
template <class S, int kWidth>
__device__ __forceinline__ void score_gradients(
    const AttentionView<S>& a, const AttentionGradView<S>& gradient,
    const typename Tile<Computed<S>, kWidth>::Matrix& q, const typename Tile<Computed<S>, kWidth>::Matrix& k,
    const typename Tile<Computed<S>, kWidth>::Matrix& dc, const typename Tile<Computed<S>, kWidth>::Matrix& v,
    const FirstKeys& first_keys, int64_t sequence, int64_t head, int64_t query, int64_t key,
    typename Tile<Computed<S>, kWidth>::Block* used_block,
    typename Tile<Computed<S>, kWidth>::Block& dscores) {
  using T = Computed<S>;
  using Size = Tile<T, kWidth>;
  constexpr int kPer = Size::kPer;
  typename Size::Part score, dprob;
  if (a.probs == nullptr) multiply_rows<T, kWidth>(q, k, a.head_dim, score);
  multiply_rows<T, kWidth>(dc, v, a.head_dim, dprob);
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int y = tile_y() + kSide * i;
    const int64_t row = query + y;
    const bool exists = row < a.seq;
    const int64_t seen = exists ? a.seen(row) : 0;
    const int64_t index = exists ? (sequence * a.seq + row) * a.heads + head : 0;  // among the rows of P
    const T delta = gradient.delta[index];
    const T scale = first_keys.are_one_of(seen) ? T(0) : a.scale;  // of dS
    const T top = a.probs == nullptr ? a.kept[2 * index] : T(0);
    const T inverse = a.probs == nullptr ? a.kept[2 * index + 1] : T(0);
    const int64_t draw = a.has_dropout ? a.first_draw(sequence, head, row) : 0;
#pragma unroll
    for (int j = 0; j < kPer; ++j) {
      const int x = tile_x() + kSide * j;
      const int64_t col = key + x;
      T used = 0, dscore = 0;
      if (col < seen) {
        T prob;
        if (a.probs != nullptr) {
          prob = widen(a.probs[index * a.room + col]);
        } else {
          const bool hidden = a.mask != nullptr && a.mask[sequence * a.room + col] == 0;
          prob = probability(times(hidden ? kHidden<T> : score[i][j], a.scale), top, inverse);
        }
        used = prob;
        if (a.has_dropout) {
          MaskReader mask(a.dropping);
          used = mask.drops(draw + col) ? T(0) : prob * static_cast<T>(a.dropping.scale);
        }
        dscore = score_gradient(prob, used, dprob[i][j], delta, scale, a.has_dropout);
      }
      if (used_block != nullptr) (*used_block)[y][x] = used;
      dscores[y][x] = dscore;
    }
  }
}

/// dQ of a tile of queries.
template <class S, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 1)
    query_grad_kernel(AttentionView<S> a, AttentionGradView<S> gradient, int64_t tiles) {
  using T = Computed<S>;
  using Size = Tile<T, kWidth>;
  unsigned char* memory = block_memory();
  auto* matrices = reinterpret_cast<typename Size::Matrix*>(memory);
  auto &q = matrices[0], &dc = matrices[1], &k = matrices[2], &v = matrices[3];
  auto& dscores = *reinterpret_cast<typename Size::Block*>(matrices + 4);

  const TilePlace at(blockIdx.x, a.batch, a.heads, tiles, a.causal);
  const int64_t query = at.tile * Size::kRows;
  const int64_t rows = a.seq - query < Size::kRows ? a.seq - query : Size::kRows;
  const int64_t token = at.sequence * a.seq + query, key_head = key_head_of(a.keys, at.head);
  const int64_t end = a.seen(query + rows - 1);
  const FirstKeys first_keys = a.first_keys(at.sequence);
  load_tile<T, kWidth>(a.q, token, rows, at.head, a.head_dim, q);
  load_tile<T, kWidth>(gradient.dcontext, token, rows, at.head, a.head_dim, dc);
  typename Size::Rows result{};
  for (int64_t key = 0; key < end; key += Size::kRows) {
    const int64_t count = end - key < Size::kRows ? end - key : Size::kRows;
    __syncthreads();  // the tiles before have been read
    load_tile<T, kWidth>(a.k, at.sequence * a.room + key, count, key_head, a.head_dim, k);
    load_tile<T, kWidth>(a.v, at.sequence * a.room + key, count, key_head, a.head_dim, v);
    __syncthreads();
    score_gradients<S, kWidth>(a, gradient, q, k, dc, v, first_keys, at.sequence, at.head, query, key,
                               nullptr, dscores);
    __syncthreads();
    add_product<T, kWidth, false>(dscores, k, result);
  }
  store_rows<T, kWidth>(result, gradient.dq, token, rows, at.head, a.head_dim);
}

/// dK and dV of a tile of keys.
template <class S, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 1)
    key_grad_kernel(AttentionView<S> a, AttentionGradView<S> gradient, int64_t tiles) {
  using T = Computed<S>;
  using Size = Tile<T, kWidth>;
  unsigned char* memory = block_memory();
  auto* matrices = reinterpret_cast<typename Size::Matrix*>(memory);
  auto &k = matrices[0], &v = matrices[1], &q = matrices[2], &dc = matrices[3];
  auto* blocks = reinterpret_cast<typename Size::Block*>(matrices + 4);
  auto &used = blocks[0], &dscores = blocks[1];

  const TilePlace at(blockIdx.x, a.batch, a.keys.heads, tiles, false);
  const int64_t key = at.tile * Size::kRows, token = at.sequence * a.room + key;
  const int64_t count = a.room - key < Size::kRows ? a.room - key : Size::kRows;
  load_tile<T, kWidth>(a.k, token, count, at.head, a.head_dim, k);
  load_tile<T, kWidth>(a.v, token, count, at.head, a.head_dim, v);
  const FirstKeys first_keys = a.first_keys(at.sequence);
  typename Size::Rows dk{}, dv{};
  const Readers readers = readers_of(a.keys, a.heads, at.head);
  for (int64_t head = readers.begin; head < readers.end; ++head) {
    // Tiles of queries and keys have the same length: earlier tiles of queries see none of these keys.
    for (int64_t query = a.causal ? key : 0; query < a.seq; query += Size::kRows) {
      const int64_t rows = a.seq - query < Size::kRows ? a.seq - query : Size::kRows;
      __syncthreads();  // the tiles before have been read
      load_tile<T, kWidth>(a.q, at.sequence * a.seq + query, rows, head, a.head_dim, q);
      load_tile<T, kWidth>(gradient.dcontext, at.sequence * a.seq + query, rows, head, a.head_dim, dc);
      __syncthreads();
      score_gradients<S, kWidth>(a, gradient, q, k, dc, v, first_keys, at.sequence, head, query, key, &used,
                                 dscores);
      __syncthreads();
      add_product<T, kWidth, true>(used, dc, dv);
      add_product<T, kWidth, true>(dscores, q, dk);
    }
  }
  store_rows<T, kWidth>(dk, gradient.dk, token, count, at.head, a.head_dim);
  store_rows<T, kWidth>(dv, gradient.dv, token, count, at.head, a.head_dim);
}

template <class S>
AttentionGradView<S> gradient_view(const AttentionGrad& grad, const Computed<S>* delta) {
  const Attention& op = grad.forward;
  AttentionGradView<S> g;
  g.dcontext = HeadRows<const S>(static_cast<const S*>(grad.dcontext), 1, 0, op.heads, op.head_dim);
  g.delta = delta;
  S* out = static_cast<S*>(grad.dqkv);
  if (op.kv == nullptr) {
    g.dq = HeadRows<S>(out, 3, 0, op.heads, op.head_dim);
    g.dk = HeadRows<S>(out, 3, 1, op.heads, op.head_dim);
    g.dv = HeadRows<S>(out, 3, 2, op.heads, op.head_dim);
  } else {
    S* dkv = static_cast<S*>(grad.dkv);
    g.dq = HeadRows<S>(out, 1, 0, op.heads, op.head_dim);
    g.dk = HeadRows<S>(dkv, 2, 0, op.keys.heads, op.head_dim);
    g.dv = HeadRows<S>(dkv, 2, 1, op.keys.heads, op.head_dim);
  }
  return g;
}

}  // namespace

void CudaDevice::attention_grad(const AttentionGrad& grad) {
  const Attention& op = grad.forward;
  with_element_type(op.dtype, "the gradient of attention", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const Operation operation(*this, "the gradient of attention");
    const int64_t rows = op.batch * op.seq * op.heads;
    if (static_cast<size_t>(rows) * sizeof(T) > operation.scratch_bytes())
      throw run_error("the gradient of attention on the GPU has scratch for " +
                      std::to_string(operation.scratch_bytes() / sizeof(T)) + " rows of P but needs " +
                      std::to_string(rows) + ": choose a smaller batch or more micro-batches");
    const auto a = view<S>(op);
    const AttentionGradView<S> gradient = gradient_view<S>(grad, operation.scratch<T>());
    const bool on_matrix_units =
        suits_matrix_units(a) && rows_aligned<S>(kLanes<S>, grad.dcontext, grad.dqkv, grad.dkv);
    constexpr int kThreads = 128;
    const bool whole = rows_aligned<S>(op.head_dim, op.context, grad.dcontext);
    operation.launch(whole ? delta_kernel<S, true> : delta_kernel<S, false>,
                     pieces(rows, kThreads / kDeltaLanes), kThreads, 0, rows, op.head_dim,
                     static_cast<const S*>(op.context), static_cast<const S*>(grad.dcontext),
                     on_matrix_units ? a.scale : T(1), operation.scratch<T>());
    if (op.batch * op.seq == 0) return;
    if constexpr (kIsHalf<S>) {
      if (on_matrix_units) {
        query_grad_on_matrix_units(operation, a, gradient);
        return key_grad_on_matrix_units(operation, a, gradient);
      }
    }
    with_width(op.head_dim, [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      using Size = Tile<T, kWidth>;
      const int64_t tiles = pieces(op.seq, Size::kRows);
      operation.launch(query_grad_kernel<S, kWidth>, op.batch * a.heads * tiles, kTileThreads,
                       Size::bytes(4, 1), a, gradient, tiles);
      operation.launch(key_grad_kernel<S, kWidth>, op.batch * a.keys.heads * tiles, kTileThreads,
                       Size::bytes(4, 2), a, gradient, tiles);
    });
  });
}

}  // namespace shardlens::cuda
