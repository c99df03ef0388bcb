// The communicator over NVIDIA's library: ranks with a GPU each, threads of this process. The library is
// opened when it is asked for and not linked: it is as large as everything else together, and many machines
// have it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/comm.h"

namespace shardlens {

/// As NCCL numbers itself, 22809 for 2.28.9; 0, and a sentence with a remedy in *why, where it is not there.
int nccl_version(std::string* why);

/// One communicator a rank. They find each other when they are attached to their devices. A rank that does
/// not come, there or to a collective, is lost after `patience_seconds`: then all throw a run Error that
/// names it and the collective.
std::vector<std::unique_ptr<Communicator>> make_nccl_group(int ranks, const std::string& reason,
                                                           double patience_seconds);

}  // namespace shardlens
