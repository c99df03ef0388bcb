// How the blocks of a kernel that made parts of one result find out which of them is the last: it then adds
// up the parts, in their own order. Which block that is differs from run to run, and the bits do not.
#pragma once

#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

/// Call it when all threads of the block have written its part. True for all threads of the last one of
/// `blocks` blocks with this ticket: the others' parts can then be read, by __ldcg() (the first cache may
/// hold old ones). The ticket is 0 again afterwards.
__device__ __forceinline__ bool is_last_block(unsigned* ticket, unsigned blocks) {
  __shared__ bool is_last;
  __threadfence();  // this thread's part, before the ticket
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(ticket, 1u) == blocks - 1;
    if (is_last) *ticket = 0;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

}  // namespace shardlens::cuda
