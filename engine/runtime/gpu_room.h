// Whether ranks have room on the GPUs they were dealt out to: a rule over facts, the same on every machine,
// asked before anything is allocated.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/program/program.h"
#include "engine/runtime/choose.h"

namespace shardlens {

/// What of a GPU's memory CUDA and NCCL take beside the ranks' arenas and scratch. No library says it before
/// it has it, and it differs from one GPU and version to the next: estimates, on the safe side of what others
/// report (a context with few kernels some 300 MB, pytorch/pytorch issue 107667; a communicator 544 and 688
/// MB on A100s of one machine, NVIDIA/nccl issue 964), not measured by us yet. A context that is there
/// already is among what the driver counts as used.
inline constexpr int64_t kContextBytes = int64_t{512} << 20;    ///< of a process
inline constexpr int64_t kKernelsBytes = int64_t{256} << 20;    ///< of a process: loaded when first launched
inline constexpr int64_t kNcclGroupBytes = int64_t{704} << 20;  ///< of a rank in each group it meets by NCCL

/// The memory of a GPU that ranks are on.
struct GpuRoom {
  std::string name;        ///< "GPU 0"; of one of several machines "GPU 0 of node7"
  std::vector<int> ranks;  ///< of all T x D
  int64_t free_bytes =
      0;  ///< before the run, by whom it looks fullest; all there can be where it is not known
  int64_t reserve_bytes = 0;  ///< of it, for the ranks' scratch, CUDA and NCCL
  bool by_nccl = false;       ///< the ranks meet by NCCL, and need packed_copy_bytes() too

  int64_t left_bytes() const { return free_bytes > reserve_bytes ? free_bytes - reserve_bytes : 0; }
};

/// In the order of their first ranks; none on the CPU. For ranks that are threads of this process, and for
/// ranks that are processes, as choose() and choose_over_processes().
std::vector<GpuRoom> gpu_rooms(const Settings& settings, const Choice& choice, const GpuFacts& facts);
std::vector<GpuRoom> gpu_rooms(const Settings& settings, const Choice& choice,
                               const std::vector<ProcessFacts>& ranks);

/// Bytes that rank `rank` of a replica needs beside its arenas for slices that NCCL carries through
/// a packed copy (packed_bytes()): one at a time, so the largest.
int64_t packed_copy_bytes(const Program& program, int rank);

/// [neighbour, of T]: bytes that a run of the settings needs for each rank's arenas, and for its packed
/// copies where it meets others by NCCL.
using RankNeeds = std::function<std::vector<int64_t>(const Settings&)>;

/// Throws a request Error where the ranks on a GPU need more than is left there, of the fullest one: what
/// refuse_if_too_large() says, what each rank needs, which share the GPU, and what is set aside for CUDA.
void refuse_if_gpus_too_full(const Settings& settings, const std::vector<GpuRoom>& rooms,
                             const RankNeeds& needs);

/// A place where memory is, what is asked of it and what is left there.
struct MemoryDemand {
  std::string place;  ///< " on GPU 0"; empty: this machine's memory
  int64_t needed_bytes = 0, free_bytes = 0;

  int64_t lacking_bytes() const { return needed_bytes - free_bytes; }
};

/// The place that lacks most, or has least to spare, where each rank takes `rank_bytes` [of all T x D] more
/// and this process `host_bytes` of `host_free_bytes`. Without rooms the ranks are on this machine's CPUs,
/// and take theirs of its memory too.
MemoryDemand tightest_demand(const std::vector<GpuRoom>& rooms, const std::vector<int64_t>& rank_bytes,
                             int64_t host_bytes, int64_t host_free_bytes);

}  // namespace shardlens
