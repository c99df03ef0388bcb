// One step on one rank: the only place that maps a Program's operations to a Device's and a Communicator's.
#pragma once

#include "engine/comm/comm.h"
#include "engine/runtime/arena.h"

namespace shardlens {

/// What a rank needs to run a step.
struct RankContext {
  const Program& program;
  int rank;
  Device& device;
  Communicator& communicator;
  Arenas& arenas;
};

/// Runs `step` on this rank. For a collective, returns when the rank arrived and when all had; zeros
/// otherwise.
CollectiveTimes execute(const Step& step, RankContext& context);

}  // namespace shardlens
