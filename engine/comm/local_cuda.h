// The communicator of ranks that share one GPU and are threads of one process. Each rank reads and writes the
// other ranks' memory on that GPU directly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/comm.h"

namespace shardlens {

/// Makes one communicator a rank, to be attached to CudaDevices of one GPU. `reason` is for CommunicatorInfo.
/// Ranks wait at most `patience_seconds` for one another to ask for a collective. `spins`: ranks watch for
/// some microseconds before they sleep; use it if each thread can have its own core.
std::vector<std::unique_ptr<Communicator>> make_local_cuda_group(int ranks, const std::string& reason,
                                                                 double patience_seconds, bool spins = false);

}  // namespace shardlens
