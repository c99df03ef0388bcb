// Copies the keys and values of new tokens into the cache, where later tokens read them. The positions are
// only on the GPU, so a kernel checks them there. It writes what is wrong into memory that the host can read.
// The copies skip rows whose position is not in the cache.
#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

namespace {

/// Finds the first wrong position, if there is one. One block.
__global__ void __launch_bounds__(kRowThreads)
    check_positions_kernel(int64_t batch, int64_t seq, int64_t room, const int32_t* positions, Fault* fault) {
  __shared__ unsigned long long worst;
  const auto none = ~0ULL;
  if (threadIdx.x == 0) worst = none;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < batch * seq; i += kRowThreads) {
    const int64_t first = positions[i / seq * seq];
    const bool right = first >= 0 && first + seq <= room && positions[i] == first + i % seq;
    if (!right) atomicMin(&worst, static_cast<unsigned long long>(i));
  }
  __syncthreads();
  if (threadIdx.x != 0 || worst == none || fault->found != 0) return;
  const auto at = static_cast<int64_t>(worst);
  fault->seq = seq;
  fault->room = room;
  fault->first = positions[at / seq * seq];
  fault->index = at % seq;
  fault->position = positions[at];
  __threadfence_system();
  fault->found = 1;
}

/// A block takes a chunk of one token's row, and a thread a pack of it, for keys and for values.
template <class S>
__global__ void cache_append_kernel(RowChunks chunks, int64_t seq, int64_t room, int64_t parts,
                                    const int32_t* positions, const S* qkv, S* keys, S* values,
                                    bool aligned) {
  const int64_t chunk = blockIdx.x, token = chunks.row(chunk), end = chunks.end(chunk);
  const int64_t col = chunks.begin(chunk) + int64_t{threadIdx.x} * kLanes<S>;
  if (col >= end) return;
  const int64_t sequence = token / seq, first = positions[sequence * seq];
  if (first < 0 || first + seq > room) return;  // check_positions() reports it
  const int64_t to = (sequence * room + first + token % seq) * chunks.length + col;
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
    operation.launch(check_positions_kernel, 1, kRowThreads, 0, shape.batch, shape.seq, shape.room,
                     shape.positions, fault_);
}

void CudaDevice::cache_append(const CacheAppend& op) {
  const CacheShape& shape = op.shape;
  with_element_type(shape.dtype, "a cache", [&](auto zero) {
    using S = decltype(zero);
    constexpr int kThreads = 128;
    const Operation operation(*this, "a cache");
    check_positions(operation, shape);
    const int64_t row = (shape.grouped ? shape.keys.heads : shape.heads) * shape.head_dim;
    const RowChunks chunks{shape.batch * shape.seq, row, int64_t{kThreads} * kLanes<S>};
    operation.launch(cache_append_kernel<S>, chunks.count(), kThreads, 0, chunks, shape.seq, shape.room,
                     int64_t{shape.grouped ? 2 : 3},  // K and V are the last two
                     shape.positions, static_cast<const S*>(op.qkv), static_cast<S*>(op.keys),
                     static_cast<S*>(op.values), rows_aligned<S>(row, op.qkv, op.keys, op.values));
  });
}

}  // namespace shardlens::cuda
