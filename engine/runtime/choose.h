// Where the ranks of a run compute and what they meet through: a rule over facts, the same on every machine.
//
//   one rank a GPU                 nccl
//   several ranks on a GPU         nccl where it can (2.30.3 and newer, each rank in one group, and room for
//                                  the kernels of all: nccl_sharing.h), else local_cuda, all on one GPU
//   no GPU, or not asked for       local
//   processes on CPUs              mpi
//   processes, one a GPU           nccl, begun over mpi
//   several processes on a GPU     nccl where it can, else refused: only threads reach each other's memory
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
      CommunicatorChoice::Local;  ///< never Auto; of the data, not of who starts
  std::vector<int> gpu_of_rank;   ///< by rank of all T x D; empty on the CPU
  /// Why these, for CommunicatorInfo: "2 ranks, a GPU each, NCCL 2.28.9". A fall-back says what it falls back
  /// from.
  std::string reason;
  int ranks_per_gpu = 1;  ///< the most that are on one GPU
};

/// Groups of several ranks that each rank of a run is in: its neighbours, its copies, and those who hold what
/// it holds where key heads are fewer than ranks.
int groups_of_a_rank(const Settings& settings);

/// For ranks that are threads of this process. Throws a request Error that names what is missing and what
/// would work.
Choice choose(const Settings& settings, const GpuFacts& facts);

/// `settings` with what BackendChoice::Auto is already known to come to, so that the Program is planned for
/// it: for ranks that are threads of this process it is GPUs wherever there is one. Else it stays, to be said
/// with its reason.
Settings settled(Settings settings, const GpuFacts& facts);

/// A rank that is a process of its own: where it is, and what it found there.
struct ProcessFacts {
  int process = 0;
  std::string host;
  GpuFacts facts;
};

/// For ranks that are processes, all of T x D in their order; the same on each of them. A rank takes, of the
/// GPUs that its process sees, the one that the fewest have taken: so processes of a machine share out its
/// GPUs in turn, and each keeps its own where whoever started them gave it one. Throws as choose() does, with
/// both sides' values where processes differ.
Choice choose_over_processes(const Settings& settings, const std::vector<ProcessFacts>& ranks);

/// GPU number `number` of a process as all of its machine know it: processes may count the same one
/// otherwise.
std::string gpu_identity(const GpuFacts& facts, int number);

/// "2.28.9" for 22809.
std::string nccl_version_text(int version);

}  // namespace shardlens
