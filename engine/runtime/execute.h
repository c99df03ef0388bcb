// One step on one rank, or several together: the only place that maps a Program's operations to a Device's
// and a Communicator's.
#pragma once

#include <span>

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
  Communicator& layer;  ///< RankGroups
  Communicator& replicas;
  Communicator& same_slice;  ///< this rank alone if no other holds its slices
  Arenas& arenas;
  PassNumbers numbers;
};

/// Runs `step` on this rank. For a collective, returns when the rank arrived and when all had; zeros
/// otherwise.
CollectiveTimes execute(const Step& step, RankContext& context);

/// Whether a step is the same work in every pass: it uses none of the pass's numbers and meets no other rank.
bool is_same_in_every_pass(const Step& step);
/// Whether a device may be asked for both by one call: the optimizer's updates, which touch nothing in
/// common.
bool may_run_together(const Step& step, const Step& next);
/// Returns how many of the first steps a device may be asked for by one call, at least one. In a pass that
/// nobody watches these are also steps that are joined (engine/program/joined_steps.h): memory that a later
/// one of them writes may be that of a result of an earlier one.
size_t count_together(const Program& program, std::span<const Step> steps, bool watched);
/// Runs steps that count_together() counted: to the bits of one by one.
void execute_together(std::span<const Step> steps, RankContext& context);

}  // namespace shardlens
