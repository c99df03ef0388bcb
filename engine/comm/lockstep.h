// The communicator of ranks that take turns on one thread.
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/comm.h"

namespace shardlens {

/// Makes one communicator per rank. No call waits: a rank's call brings its part, and the call of the rank
/// that comes last does the collective for all. So all ranks must make their calls of a step before any of
/// them looks at the step's result, and buffers stay the ranks' until then. Throws a request Error if `ranks`
/// is below 1.
std::vector<std::unique_ptr<Communicator>> make_lockstep_group(int ranks);

}  // namespace shardlens
