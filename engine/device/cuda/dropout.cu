// Dropout. The mask is not stored: element i of the full tensor takes the i-th draw of the counter-based
// generator. So every device, rank and T sees the same mask.
#include "engine/device/cuda/operation.cuh"
#include "engine/device/cuda/random.h"

namespace shardlens::cuda {

namespace {

/// A block takes a chunk of a run, and a thread a pack of it.
template <class S>
__global__ void dropout_kernel(RowChunks chunks, Dropping dropping, int64_t first, int64_t stride, const S* x,
                               S* y, bool aligned) {
  using T = Computed<S>;
  const int64_t chunk = blockIdx.x, row = chunks.row(chunk), end = chunks.end(chunk);
  const int64_t col = chunks.begin(chunk) + int64_t{threadIdx.x} * kLanes<S>;
  if (col >= end) return;
  const int64_t at = row * chunks.length + col, element = first + row * stride + col;
  const T scale = static_cast<T>(dropping.scale);
  T value[kLanes<S>];
  load_pack(x + at, end - col, aligned, T(0), value);
  MaskReader mask(dropping);
#pragma unroll
  for (int i = 0; i < kLanes<S>; ++i) value[i] = mask.drops(element + i) ? T(0) : value[i] * scale;
  store_pack(y + at, end - col, aligned, value);
}

}  // namespace

void CudaDevice::dropout(DType dtype, const DropoutMask& mask, const RowRuns& place, const void* x, void* y) {
  with_element_type(dtype, "dropout", [&](auto zero) {
    using S = decltype(zero);
    constexpr int kThreads = 256;
    const RowChunks chunks{place.rows, place.run, int64_t{kThreads} * kLanes<S>};
    // The rows of x are contiguous. Chunks begin at whole packs of a row.
    const bool aligned = rows_aligned<S>(place.rows == 1 ? kLanes<S> : place.run, x, y);
    Operation(*this, "dropout")
        .launch(dropout_kernel<S>, chunks.count(), kThreads, 0, chunks, Dropping(mask), place.first,
                place.stride, static_cast<const S*>(x), static_cast<S*>(y), aligned);
  });
}

}  // namespace shardlens::cuda
