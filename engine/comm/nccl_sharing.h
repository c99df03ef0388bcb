// Rules for ranks that share a GPU with NCCL: how many are allowed, how much of the GPU each takes, and which
// environment variables NCCL needs. A variable that the user has set is kept. The kernels of all ranks wait
// for one another, so they must all fit on the GPU at once, together with the steps. On a GPU that is too
// small, or has too many ranks, they would wait for ever.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>

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

/// Sets the environment that sharing needs. Call it before the library is opened.
inline void let_nccl_share_gpus() {
  // Works from 2.30 on (experimental there); older versions refuse to share.
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  // NCCL caches what it has read from its environment, and a process may have groups with one rank per GPU
  // before a group that shares. From 2.30.3 on, the first version that allows sharing, NCCL reads this
  // variable again each time.
  setenv("NCCL_NO_CACHE", "NCCL_RUNTIME_CONNECT", 0);
}

/// Call it before the communicators of a group are made, if one GPU of the group has `ranks_per_gpu` ranks.
/// The environment belongs to the process: from the first group that shares a GPU on, it also holds for
/// groups with one rank per GPU. They then start later and take more memory.
inline void prepare_to_share(int ranks_per_gpu) {
  if (ranks_per_gpu <= 1) return;
  // Sums in NVLink's switches need memory on different GPUs.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  // Ranks connect when the communicator is made. By default NCCL does it from 2.22 on in the first collective
  // of each algorithm. What it allocates then may wait for the whole GPU, so also for the kernel of an
  // earlier rank that waits for this one. (Sends and receives always connect late. There a rank goes on when
  // the ranks it exchanges with are connected too, and in an all-to-all these are all ranks.)
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
}

}  // namespace shardlens
