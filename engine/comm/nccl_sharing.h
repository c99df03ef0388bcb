// How many ranks may share a GPU by NCCL, and how much of it each of them takes. The kernels of all ranks
// wait for one another, so they must find room on the GPU at once, beside the steps; a GPU that is too small,
// or has too many ranks, would stand still for ever.
#pragma once

#include <algorithm>
#include <bit>

namespace shardlens {

/// A rank has four streams there, two of its own and two of NCCL's, and a context at most 32 queues
/// (CUDA_DEVICE_MAX_CONNECTIONS): beyond, what one rank waits for may stand in its own queue.
inline constexpr int kMostRanksOfAGpuByNccl = 7;

/// The blocks that NCCL's kernels of one of so many ranks may have; 0: there is no room for so many. A block
/// takes a multiprocessor for itself, and half of them are left to the steps. NCCL rounds its channels of
/// sends and receives up to a power of two, so it is one. `multiprocessors` 0: not known.
inline int nccl_blocks_of_a_rank(int multiprocessors, int ranks_per_gpu) {
  constexpr int kMost = 32;  // of all ranks together: more carry no more within a GPU
  if (ranks_per_gpu > kMostRanksOfAGpuByNccl) return 0;
  const int all = multiprocessors > 0 ? std::min(kMost, multiprocessors / 2) : kMost;
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(all / std::max(1, ranks_per_gpu))));
}

}  // namespace shardlens
