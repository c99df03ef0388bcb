// Rules for ranks that share a GPU with NCCL: how many are allowed, and how much of the GPU each takes. The
// kernels of all ranks wait for one another, so they must all fit on the GPU at once, together with the
// steps. On a GPU that is too small, or has too many ranks, they would wait for ever.
// (engine/device/gpu_environment.h sets what NCCL reads of its environment.)
#pragma once

#include <algorithm>
#include <bit>

namespace shardlens {

/// NCCL's manual (2.30) calls sharing an experiment that may deadlock. It promises two ranks with its
/// defaults, and leaves it to the user that more ranks have room. A rank uses four streams on the GPU, two of
/// its own and two of NCCL's, and a context has at most 32 queues (CUDA_DEVICE_MAX_CONNECTIONS). With more
/// streams, the work that a rank waits for may be behind it in its own queue.
inline constexpr int kMostRanksOfAGpuByNccl = 7;

/// Returns the number of blocks that NCCL's kernels may have on each of `ranks_per_gpu` ranks; 0: there is no
/// room for so many ranks. A block occupies a whole multiprocessor, and half of them are left to the steps.
/// NCCL rounds its channels of sends and receives up to a power of two, so the result is a power of two.
/// `multiprocessors` 0: not known.
inline int nccl_blocks_of_a_rank(int multiprocessors, int ranks_per_gpu) {
  constexpr int kMost = 32;  // for all ranks together: more do not carry more within a GPU
  if (ranks_per_gpu > kMostRanksOfAGpuByNccl) return 0;
  const int all = multiprocessors > 0 ? std::min(kMost, multiprocessors / 2) : kMost;
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(all / std::max(1, ranks_per_gpu))));
}

}  // namespace shardlens
