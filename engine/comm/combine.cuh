// The kernel that combines the terms of several ranks, all of them in memory that this GPU can read.
#pragma once

#include <algorithm>

#include "engine/comm/comm.h"
#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

inline constexpr int kMostCombined = 64;  ///< ranks

/// All ranks' buffers, of `rows` rows of `count` elements with these strides. Passed to a kernel by value.
template <class S>
struct Buffers {
  int64_t rows = 1, count = 0, from_stride = 0, to_stride = 0;
  int from_count = 0, to_count = 0;
  const S* from[kMostCombined] = {};
  S* to[kMostCombined] = {};

  __host__ __device__ int64_t packs_per_row() const { return pieces(count, kLanes<S>); }
};

struct SumOf {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct LargerOf {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

// to[t][i] = from[0][i] + from[1][i] + … in rank order, one pack of elements a thread. 16-bit elements are
// summed in fp32 and rounded once. All reads of an element come before its writes, so targets may be sources.
template <class S, class Combine>
__global__ void combine_kernel(Buffers<S> buffers, bool aligned, Combine combine) {
  using T = Computed<S>;
  constexpr int kPack = kLanes<S>;
  const int64_t packs = buffers.packs_per_row(), threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; p < buffers.rows * packs;
       p += threads) {
    const int64_t row = p / packs, col = p % packs * kPack, left = buffers.count - col;
    T total[kPack], next[kPack];
    load_pack(buffers.from[0] + row * buffers.from_stride + col, left, aligned, T(0), total);
    for (int rank = 1; rank < buffers.from_count; ++rank) {
      load_pack(buffers.from[rank] + row * buffers.from_stride + col, left, aligned, T(0), next);
#pragma unroll
      for (int lane = 0; lane < kPack; ++lane) total[lane] = combine(total[lane], next[lane]);
    }
    for (int rank = 0; rank < buffers.to_count; ++rank)
      store_pack(buffers.to[rank] + row * buffers.to_stride + col, left, aligned, total);
  }
}

/// Enqueues the sums or maxima. `what` names the operation in errors.
template <class S>
void launch_combine(const char* what, cudaStream_t stream, const Buffers<S>& buffers, bool aligned,
                    Reduction reduction) {
  constexpr int kThreads = 256;
  // Enough blocks to keep memory busy, few enough to leave the steps some room.
  constexpr int64_t kMostBlocks = 1024;
  const auto blocks =
      static_cast<unsigned>(std::min(pieces(buffers.rows * buffers.packs_per_row(), kThreads), kMostBlocks));
  if (reduction == Reduction::Max) {
    start_kernel(combine_kernel<S, LargerOf>, blocks, kThreads, 0, stream, buffers, aligned, LargerOf{});
  } else {
    start_kernel(combine_kernel<S, SumOf>, blocks, kThreads, 0, stream, buffers, aligned, SumOf{});
  }
  check(what, "the launch of its kernel", cudaGetLastError());
}

}  // namespace shardlens::cuda
