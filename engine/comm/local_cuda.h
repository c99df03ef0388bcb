// The communicator of ranks that share one GPU, as threads of one process: each reads and writes the others'
// memory on that GPU directly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/comm.h"

namespace shardlens {

/// One communicator a rank, to be attached to CudaDevices of one GPU. `reason` is for CommunicatorInfo; ranks
/// wait so long for one another to ask for a collective. `spins`: they watch for some microseconds before
/// they sleep, which is for threads that can have a core each.
std::vector<std::unique_ptr<Communicator>> make_local_cuda_group(int ranks, const std::string& reason,
                                                                 double patience_seconds, bool spins = false);

}  // namespace shardlens
