// Chooses where the ranks of a run compute and what carries their collectives: a rule over facts, the same on
// every machine.
//
//   one rank a GPU                 nccl
//   several ranks on a GPU         nccl where it can (2.30.3 and newer, each rank in one group, and room for
//                                  the kernels of all: nccl_sharing.h), else local_cuda, all on one GPU
//   no GPU, or not asked for       local; lockstep in a build without threads (SHARDLENS_WORKERS)
//   processes on CPUs              mpi
//   processes, one a GPU           nccl, begun over mpi
//   several processes on a GPU     nccl where it can and NVIDIA's MPS joins them, else refused: only threads
//                                  reach each other's memory
#pragma once

#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/device/gpu_facts.h"

namespace shardlens {

/// The first NCCL that lets several ranks share a GPU, as NCCL numbers itself.
inline constexpr int kNcclSharesGpus = 23003;

struct Choice {
  bool on_gpus = false;
  CommunicatorChoice communicator =
      CommunicatorChoice::Local;  ///< never Auto; it carries the data; another one may start the group
  std::vector<int> gpu_of_rank;   ///< by world rank, T x D entries; empty on the CPU
  /// The reason for this choice, for CommunicatorInfo: "2 ranks, a GPU each, NCCL 2.28.9". A fall-back names
  /// what it replaces.
  std::string reason;
  int ranks_per_gpu = 1;  ///< the largest number of ranks on one GPU
};

/// The number of groups of several ranks that each rank of a run is in: its neighbours, its copies, and, if
/// there are fewer key heads than ranks, the ranks that hold the same key heads.
int groups_of_a_rank(const Settings& settings);

/// True if the ranks take turns on the caller's thread: they were asked to, or they compute on the CPU in a
/// build whose workers take turns, where no rank can be a thread.
bool ranks_take_turns(const Settings& settings);

/// The choice for ranks that are threads of this process. Throws a request Error that names what is missing
/// and what would work.
Choice choose(const Settings& settings, const GpuFacts& facts);

/// Returns `settings` with BackendChoice::Auto replaced if its result is already known, so that the Program
/// is planned for it. For ranks that are threads of this process: GPUs if there is one. In all other cases
/// Auto stays, and choose() reports the result with its reason.
Settings settled(Settings settings, const GpuFacts& facts);

/// A rank that is a process of its own: its host and its GPUs.
struct ProcessFacts {
  int process = 0;
  std::string host;
  GpuFacts facts;
};

/// The choice for ranks that are processes, for all T x D in their order; every process computes the same
/// one. A rank takes the GPU that the fewest ranks have taken, of those that its process sees. So the
/// processes of a machine share its GPUs in turn, and a process that was given one GPU keeps it. Throws what
/// choose() throws; if processes differ, the message has both sides' values.
Choice choose_over_processes(const Settings& settings, const std::vector<ProcessFacts>& ranks);

/// Names GPU number `number` of a process in the same way for all processes of its machine: processes may
/// number the same GPU differently.
std::string gpu_identity(const GpuFacts& facts, int number);

/// "2.28.9" for 22809.
std::string nccl_version_text(int version);

}  // namespace shardlens
