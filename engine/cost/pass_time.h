// Lays the predicted costs of the steps out in time, for every rank of a whole pass. What is drawn and what
// is printed of one prediction then agree.
#pragma once

#include <optional>
#include <vector>

#include "engine/cost/price.h"
#include "engine/record/trace.h"

namespace shardlens {

/// Returns events as [rank][step], in seconds from the beginning of the pass. Ranks run independently and
/// wait for one another at collectives. An overlapped collective is assumed to cost the other steps nothing
/// until one has to wait for it. This is right if a copy engine or a network card sums. If a core sums, as on
/// CPUs, it slows the other steps down, and no prediction here includes that.
std::vector<std::vector<StepEvent>> predicted_events(const Program& program,
                                                     const std::vector<std::vector<StepCost>>& cost);

/// Returns the time when the last rank is done; 0 if the hardware preset does not state its speed.
double predicted_pass_seconds(const Program& program, const std::vector<std::vector<StepCost>>& cost);

/// Returns one rank's costs, but an overlapped step counts only the time that other steps wait for it. The
/// sum of the seconds is then the time of the rank's pass.
std::vector<StepCost> costs_in_turn(const Program& program, std::vector<StepCost> costs);

/// How long rank 0 computes and how long it communicates in a pass or a part of it, in predicted seconds.
/// Waiting does not count, and overlapped collectives count as if they were not.
struct ComputeRatio {
  double compute_seconds = 0, communicate_seconds = 0;
  bool is_known() const { return compute_seconds > 0 && communicate_seconds > 0; }
  /// R: above 1 the rank computes longer than it communicates. Only if is_known().
  double ratio() const { return compute_seconds / communicate_seconds; }
};
/// Of the steps of `phase`, or of all steps if there is none. `costs` are rank 0's.
ComputeRatio compute_ratio(const Program& program, const std::vector<StepCost>& costs,
                           std::optional<Phase> phase = {});

}  // namespace shardlens
