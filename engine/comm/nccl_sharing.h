// How many ranks may share a GPU by NCCL, how much of it each of them takes, and what NCCL is told of it by
// its environment, where a choice made outside stands. The kernels of all ranks wait for one another, so they
// must find room on the GPU at once, beside the steps; a GPU that is too small, or has too many ranks, would
// stand still for ever.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace shardlens {

/// NCCL's manual (2.30) calls it an experiment that may lock, promises two ranks by its defaults, and leaves
/// it to the user that more have room. A rank has four streams there, two of its own and two of NCCL's, and a
/// context at most 32 queues (CUDA_DEVICE_MAX_CONNECTIONS): beyond, what one rank waits for may stand in its
/// own queue.
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

/// Before the library is opened.
inline void let_nccl_share_gpus() {
  // From 2.30 on (experimental there); older ones refuse.
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  // It keeps what it once read of its environment, and a process may have groups of ranks with a GPU each
  // before one that shares. From 2.30.3 on, the first by which ranks share, it reads this anew.
  setenv("NCCL_NO_CACHE", "NCCL_RUNTIME_CONNECT", 0);
}

/// Before the communicators of a group are made, of whose GPUs one has so many ranks. The environment is the
/// process's: from the first group that shares on it holds for groups of ranks with a GPU each too, which
/// begin later by it and take more memory.
inline void prepare_to_share(int ranks_per_gpu) {
  if (ranks_per_gpu <= 1) return;
  // Sums in NVLink's switches are of memory on GPUs that differ.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  // Ranks connect when the communicator is made: from 2.22 on NCCL would do it in the first collective of
  // each algorithm, and what it then allocates may wait for all of the GPU, so for the kernel of a rank that
  // was sooner and waits for this one. (Sends and receives are connected late all the same. There a rank goes
  // on when those it exchanges with are connected too, which in an all-to-all are all.)
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
}

}  // namespace shardlens
