// A pass over elements: y[i] = f(a[i], b[i]), one pack for each thread. y may be a or b, because a thread
// reads only its own elements, and reads them before it writes.
#pragma once

#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

template <class S, class F>
__global__ void map_kernel(int64_t count, const S* a, const S* b, S* y, bool aligned, F f) {
  const int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kLanes<S>;
  if (i >= count) return;
  Computed<S> left[kLanes<S>], right[kLanes<S>];
  load_pack(a + i, count - i, aligned, Computed<S>(0), left);
  load_pack(b + i, count - i, aligned, Computed<S>(0), right);
#pragma unroll
  for (int lane = 0; lane < kLanes<S>; ++lane) left[lane] = f(left[lane], right[lane]);
  store_pack(y + i, count - i, aligned, left);
}

/// If f needs only one argument, pass a as b: the second read then finds it in cache.
template <class S, class F>
void map(const Operation& operation, int64_t count, const void* a, const void* b, void* y, F f) {
  constexpr int kThreads = 256;
  operation.launch(map_kernel<S, F>, pieces(count, int64_t{kThreads} * kLanes<S>), kThreads, 0, count,
                   static_cast<const S*>(a), static_cast<const S*>(b), static_cast<S*>(y),
                   rows_aligned<S>(kLanes<S>, a, b, y), f);
}

}  // namespace shardlens::cuda
