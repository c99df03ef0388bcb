// One step on one rank: the only place that maps a Program's operations to a Device's and a Communicator's.
#pragma once

#include "engine/comm/comm.h"
#include "engine/runtime/arena.h"

namespace shardlens {

/// What changes from one pass over a Program to the next beside the tensors that are fed.
struct PassNumbers {
  double learning_rate = 0;
  int64_t iteration = 1;  ///< of the optimizer, from 1
  uint64_t draw = 0;      ///< which dropout masks: a new number for every pass
};

/// What a rank needs to run a step.
struct RankContext {
  const Program& program;
  int rank;     ///< among the T that share a layer
  int replica;  ///< among the D
  Device& device;
  Communicator& communicator;  ///< of the T ranks
  Communicator& replicas;      ///< of this rank's D copies
  Communicator& holders;       ///< of those of the T that hold the same slices; this rank alone if none do
  Arenas& arenas;
  PassNumbers numbers;
};

/// Runs `step` on this rank. For a collective, returns when the rank arrived and when all had; zeros
/// otherwise.
CollectiveTimes execute(const Step& step, RankContext& context);

}  // namespace shardlens
