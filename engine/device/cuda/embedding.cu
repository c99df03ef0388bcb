// Embedding: table rows by id, and their gradient. A row of another rank reads as zeros, so the sum over the
// ranks is the row. The gradient adds rows in the order of the tokens. The tokens are sorted by id, with a
// stable sort. The blocks of an id's first token sum its table row, one addition after the other. There are
// no atomics, so the bits are the same every time, and the same as the CPU's.
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "engine/device/cuda/copy_rows.cuh"
#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

namespace {

constexpr int kThreads = 128;

/// A block takes a chunk of one token's row, and a thread a pack of it.
template <class S>
__global__ void embedding_kernel(RowChunks chunks, Range rows, const int32_t* ids, const S* table, S* y,
                                 bool aligned) {
  const int64_t chunk = blockIdx.x, token = chunks.row(chunk), end = chunks.end(chunk);
  const int64_t col = chunks.begin(chunk) + int64_t{threadIdx.x} * kLanes<S>;
  if (col >= end) return;
  const int64_t row = ids[token] - rows.begin;
  Computed<S> value[kLanes<S>] = {};
  if (row >= 0 && row < rows.end - rows.begin)
    load_pack(table + row * chunks.length + col, end - col, aligned, Computed<S>(0), value);
  store_pack(y + token * chunks.length + col, end - col, aligned, value);
}

__global__ void count_up_kernel(int32_t count, int32_t* numbers) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = static_cast<int32_t>(i);
}

/// sum += the packs of the tokens with `id`, which begin at `place`. A pack has `count` elements. Several
/// packs are loaded together and added one after the other. If there are fewer, a pack that is already in
/// cache is loaded instead. kWhole: all packs are whole.
template <class S, bool kWhole>
__device__ __forceinline__ void add_tokens(const RowChunks& chunks, int64_t place, int32_t id,
                                           const int32_t* ids, const int32_t* tokens, const S* dy,
                                           int64_t count, Computed<S> (&sum)[kLanes<S>]) {
  constexpr int kAtOnce = 8;
  for (int64_t at = place; at < chunks.rows && ids[at] == id; at += kAtOnce) {
    bool adds[kAtOnce];
    int32_t token[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t next = at + k < chunks.rows ? at + k : at;
      adds[k] = at + k < chunks.rows && ids[next] == id;
      token[k] = tokens[next];
    }
    Computed<S> value[kAtOnce][kLanes<S>];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      load_pack<kWhole>(dy + (adds[k] ? token[k] : token[0]) * chunks.length, count, false, Computed<S>(0),
                        value[k]);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
#pragma unroll
      for (int i = 0; i < kLanes<S>; ++i) sum[i] = adds[k] ? sum[i] + value[k][i] : sum[i];
  }
}

/// There is a block for each place of the sorted tokens and each chunk of a row. The blocks of an id's first
/// place add.
template <class S>
__global__ void embedding_grad_kernel(RowChunks chunks, Range rows, int64_t no_gradient_id,
                                      const int32_t* ids, const int32_t* tokens, const S* dy,
                                      Computed<S>* dtable, bool aligned, bool table_aligned) {
  using T = Computed<S>;
  const int64_t chunk = blockIdx.x, place = chunks.row(chunk), end = chunks.end(chunk);
  const int32_t id = ids[place];
  if (place > 0 && ids[place - 1] == id) return;
  const int64_t row = id - rows.begin;
  if (row < 0 || row >= rows.end - rows.begin || id == no_gradient_id) return;
  const int64_t col = chunks.begin(chunk) + int64_t{threadIdx.x} * kLanes<S>;
  if (col >= end) return;
  const int64_t count = end - col;
  T* out = dtable + row * chunks.length + col;
  T sum[kLanes<S>];
  constexpr int kParts = kLanes<S> / kLanes<T>;  // packs of T in a pack of S
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    T values[kLanes<T>] = {};
    if (count > part * kLanes<T>)
      load_pack(out + part * kLanes<T>, count - part * kLanes<T>, table_aligned, T(0), values);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) sum[part * kLanes<T> + i] = values[i];
  }
  if (aligned)
    add_tokens<S, true>(chunks, place, id, ids, tokens, dy + col, count, sum);
  else
    add_tokens<S, false>(chunks, place, id, ids, tokens, dy + col, count, sum);
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    T values[kLanes<T>];
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) values[i] = sum[part * kLanes<T> + i];
    if (count > part * kLanes<T>)
      store_pack(out + part * kLanes<T>, count - part * kLanes<T>, table_aligned, values);
  }
}

/// The scratch for a sort of `count` tokens: sorted ids and tokens, tokens in order, and CUB's own scratch.
struct SortScratch {
  int32_t *ids, *tokens, *in_order;
  void* rest;
  size_t rest_bytes;

  SortScratch(const Operation& operation, int64_t count) {
    const auto place = static_cast<size_t>(pieces(count * 4, 256) * 256);
    char* first = operation.scratch<char>();
    ids = reinterpret_cast<int32_t*>(first);
    tokens = reinterpret_cast<int32_t*>(first + place);
    in_order = reinterpret_cast<int32_t*>(first + 2 * place);
    rest = first + 3 * place;
    rest_bytes = operation.scratch_bytes() - 3 * place;
  }
};

/// The tokens that are sorted at a time. The scratch holds three numbers for each token, and the sort needs
/// about the same again. Later tokens add to the sums of earlier ones, which changes no bit.
constexpr int64_t kTokensAtATime = int64_t{1} << 21;

}  // namespace

void CudaDevice::embedding(const Embedding& op) {
  with_element_type(op.dtype, "an embedding", [&](auto zero) {
    using S = decltype(zero);
    const RowChunks chunks{op.tokens, op.width, int64_t{kThreads} * kLanes<S>};
    Operation(*this, "an embedding")
        .launch(embedding_kernel<S>, chunks.count(), kThreads, 0, chunks, op.rows, op.ids,
                static_cast<const S*>(op.table), static_cast<S*>(op.y),
                rows_aligned<S>(op.width, op.table, op.y));
  });
}

void CudaDevice::embedding_grad(const EmbeddingGrad& op) {
  with_element_type(op.dtype, "the gradient of an embedding", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const Operation operation(*this, "the gradient of an embedding");
    if (!op.accumulate && op.rows.size() * op.width > 0)
      operation.check(
          "cudaMemsetAsync",
          cudaMemsetAsync(op.dtable, 0, static_cast<size_t>(op.rows.size() * op.width) * sizeof(T),
                          operation.stream()));
    for (int64_t first = 0; first < op.tokens; first += kTokensAtATime) {
      const auto count = static_cast<int32_t>(std::min(kTokensAtATime, op.tokens - first));
      const SortScratch scratch(operation, count);
      operation.launch(count_up_kernel, pieces(count, kThreads), kThreads, 0, count, scratch.in_order);
      size_t needed = 0;
      operation.check(
          "cub::DeviceRadixSort::SortPairs",
          cub::DeviceRadixSort::SortPairs(nullptr, needed, op.ids + first, scratch.ids, scratch.in_order,
                                          scratch.tokens, count, 0, 32, operation.stream()));
      if (needed > scratch.rest_bytes)
        throw run_error("the gradient of an embedding on the GPU: sorting " + std::to_string(count) +
                        " tokens needs " + std::to_string(needed) + " bytes of scratch, but there are " +
                        std::to_string(scratch.rest_bytes) + ": choose a smaller batch");
      operation.check(
          "cub::DeviceRadixSort::SortPairs",
          cub::DeviceRadixSort::SortPairs(scratch.rest, needed, op.ids + first, scratch.ids, scratch.in_order,
                                          scratch.tokens, count, 0, 32, operation.stream()));
      const RowChunks chunks{count, op.width, int64_t{kThreads} * kLanes<S>};
      operation.launch(embedding_grad_kernel<S>, chunks.count(), kThreads, 0, chunks, op.rows,
                       op.no_gradient_id, scratch.ids, scratch.tokens,
                       static_cast<const S*>(op.dy) + first * op.width, static_cast<T*>(op.dtable),
                       rows_aligned<S>(op.width, op.dy), rows_aligned<T>(op.width, op.dtable));
    }
  });
}

void CudaDevice::first_token(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* x, void* y) {
  const int64_t row = width * element_bytes(dtype);
  copy_rows(Operation(*this, "the first tokens"), batch, row, x, seq * row, y, row);
}

void CudaDevice::first_token_grad(DType dtype, int64_t batch, int64_t seq, int64_t width, const void* dy,
                                  void* dx) {
  const Operation operation(*this, "the gradient of the first tokens");
  const int64_t row = width * element_bytes(dtype);
  if (batch * seq * row == 0) return;
  operation.check("cudaMemsetAsync",
                  cudaMemsetAsync(dx, 0, static_cast<size_t>(batch * seq * row), operation.stream()));
  copy_rows(operation, batch, row, dy, row, dx, seq * row);
}

}  // namespace shardlens::cuda
