// Where the ranks of a run compute and what they meet through: a rule over facts, the same on every machine.
//
//   one rank a GPU                 nccl
//   several ranks on a GPU         nccl where it can (2.30.3 and newer), else local_cuda, all on one GPU
//   no GPU, or not asked for       local
//   processes                      mpi, which is what starts them
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
  CommunicatorChoice communicator = CommunicatorChoice::Local;  ///< never Auto
  std::vector<int> gpu_of_rank;                                 ///< by rank of all T x D; empty on the CPU
  /// Why these, for CommunicatorInfo: "2 ranks, a GPU each, NCCL 2.28.9". A fall-back says what it falls back
  /// from.
  std::string reason;
};

/// Throws a request Error that names what is missing and what would work.
Choice choose(const Settings& settings, const GpuFacts& facts);

/// "2.28.9" for 22809.
std::string nccl_version_text(int version);

}  // namespace shardlens
