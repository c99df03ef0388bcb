// Copies the keys and values of new tokens into the cache, where later tokens read them. Rows whose position
// is not in the cache are skipped.
#include "engine/device/cuda/positions.cuh"

namespace shardlens::cuda {

namespace {

/// Finds the first wrong position, if there is one. One block.
__global__ void __launch_bounds__(kRowThreads) check_positions_kernel(Positions positions, Fault* fault) {
  __shared__ unsigned long long worst;
  const auto none = ~0ULL;
  if (threadIdx.x == 0) worst = none;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < positions.batch * positions.seq; i += kRowThreads)
    if (!positions.is_right(i)) atomicMin(&worst, static_cast<unsigned long long>(i));
  __syncthreads();
  if (threadIdx.x == 0 && worst != none) positions.note(static_cast<int64_t>(worst), fault);
}

/// A block takes a chunk of one token's row, and a thread a pack of it, for keys and for values.
template <class S>
__global__ void cache_append_kernel(RowChunks chunks, Positions positions, Fault* fault, int64_t parts,
                                    const S* qkv, S* keys, S* values, bool aligned) {
  if (positions.are_few() && blockIdx.x == 0 && threadIdx.x == 0) positions.check_few(fault);
  const int64_t chunk = blockIdx.x, token = chunks.row(chunk), end = chunks.end(chunk);
  const int64_t col = chunks.begin(chunk) + int64_t{threadIdx.x} * kLanes<S>;
  if (col >= end) return;
  const int64_t sequence = token / positions.seq, first = positions.first(sequence);
  if (!positions.fit(first)) return;
  const int64_t to = (sequence * positions.room + first + token % positions.seq) * chunks.length + col;
  const S* from = qkv + token * parts * chunks.length + col;
  Computed<S> pack[kLanes<S>];
  load_pack(from + (parts - 2) * chunks.length, end - col, aligned, Computed<S>(0), pack);
  store_pack(keys + to, end - col, aligned, pack);
  load_pack(from + (parts - 1) * chunks.length, end - col, aligned, Computed<S>(0), pack);
  store_pack(values + to, end - col, aligned, pack);
}

}  // namespace

void CudaDevice::check_positions(const Operation& operation, const CacheShape& shape) {
  if (shape.batch * shape.seq > 0)
    operation.launch(check_positions_kernel, 1, kRowThreads, 0, Positions(shape), fault_);
}

void CudaDevice::cache_append(const CacheAppend& op) {
  const CacheShape& shape = op.shape;
  with_element_type(shape.dtype, "a cache", [&](auto zero) {
    using S = decltype(zero);
    constexpr int kThreads = 128;
    const Operation operation(*this, "a cache");
    const Positions positions(shape);
    const int64_t row = (shape.grouped ? shape.keys.heads : shape.heads) * shape.head_dim;
    const RowChunks chunks{shape.batch * shape.seq, row, int64_t{kThreads} * kLanes<S>};
    if (!positions.are_few() || chunks.count() == 0) check_positions(operation, shape);
    operation.launch(cache_append_kernel<S>, chunks.count(), kThreads, 0, chunks, positions, fault_,
                     int64_t{shape.grouped ? 2 : 3},  // K and V are the last two
                     static_cast<const S*>(op.qkv), static_cast<S*>(op.keys), static_cast<S*>(op.values),
                     rows_aligned<S>(row, op.qkv, op.keys, op.values));
  });
}

}  // namespace shardlens::cuda
