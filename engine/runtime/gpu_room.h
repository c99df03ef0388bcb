// Checks if ranks have room on the GPUs that they were given: a rule over facts, the same on every machine,
// evaluated before anything is allocated.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/program/program.h"
#include "engine/runtime/choose.h"

namespace shardlens {

/// Estimates of the GPU memory that CUDA and NCCL take beside the ranks' arenas and scratch. No library
/// reports it before it takes it, and it differs from one GPU and version to the next. The estimates are on
/// the safe side of what others report (a context with few kernels some 300 MB, pytorch/pytorch issue 107667;
/// a communicator 544 and 688 MB on A100s of one machine, NVIDIA/nccl issue 964); we have not measured them
/// yet. The driver already counts an existing context as used.
inline constexpr int64_t kContextBytes = int64_t{512} << 20;    ///< for each process
inline constexpr int64_t kKernelsBytes = int64_t{256} << 20;    ///< for each process, loaded at first launch
inline constexpr int64_t kNcclGroupBytes = int64_t{704} << 20;  ///< for each rank and NCCL group

/// The memory of a GPU that ranks are on.
struct GpuRoom {
  std::string name;           ///< "GPU 0", or if there are several machines "GPU 0 of node7"
  std::vector<int> ranks;     ///< world ranks
  int64_t free_bytes = 0;     ///< before the run, the least that a process saw; GPU's total if unknown
  int64_t reserve_bytes = 0;  ///< of that, for the ranks' scratch, CUDA and NCCL
  bool by_nccl = false;       ///< the ranks' collectives use NCCL, so they also need packed_copy_bytes()

  int64_t left_bytes() const { return free_bytes > reserve_bytes ? free_bytes - reserve_bytes : 0; }
};

/// The GPUs in the order of their first ranks; empty on the CPU. For ranks that are threads of this process,
/// and for ranks that are processes, like choose() and choose_over_processes().
std::vector<GpuRoom> gpu_rooms(const Settings& settings, const Choice& choice, const GpuFacts& facts);
std::vector<GpuRoom> gpu_rooms(const Settings& settings, const Choice& choice,
                               const std::vector<ProcessFacts>& ranks);

/// Bytes that rank `rank` of a replica needs beside its arenas for the copies of NCCL's collectives
/// (packed_bytes()). Copies are made one at a time, so this is the largest one.
int64_t packed_copy_bytes(const Program& program, int rank);

/// [neighbour, of T]: bytes that a run of the settings needs for each rank's arenas, and for its packed
/// copies if it uses NCCL.
using RankNeeds = std::function<std::vector<int64_t>(const Settings&)>;

/// Throws a request Error if the ranks on a GPU need more than is left there. The message is about the
/// fullest GPU: what refuse_if_too_large() writes, what each rank needs, which ranks share the GPU, and what
/// is set aside for CUDA.
void refuse_if_gpus_too_full(const Settings& settings, const std::vector<GpuRoom>& rooms,
                             const RankNeeds& needs);

/// A place with memory: how much of it is needed and how much is free.
struct MemoryDemand {
  std::string place;  ///< " on GPU 0"; empty: this machine's memory
  int64_t needed_bytes = 0, free_bytes = 0;

  int64_t lacking_bytes() const { return needed_bytes - free_bytes; }
};

/// Returns the place that lacks most, or has least to spare, if each rank takes `rank_bytes` [world rank, of
/// T x D] more and this process takes `host_bytes` of `host_free_bytes`. If there are no rooms, the ranks are
/// on this machine's CPUs and take their bytes from its memory too.
MemoryDemand tightest_demand(const std::vector<GpuRoom>& rooms, const std::vector<int64_t>& rank_bytes,
                             int64_t host_bytes, int64_t host_free_bytes);

}  // namespace shardlens
