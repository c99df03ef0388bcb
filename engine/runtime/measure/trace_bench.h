// Measures what tracing costs a run: the same step traced and untraced, in turn, so that noise on the machine
// disturbs both alike; and the cost of one event by itself, which noise cannot hide.
#pragma once

#include <memory>

#include "engine/runtime/executor.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// A median, and the order statistics between which the true median is in 95 cases of 100, for any
/// distribution of the values.
struct MedianRange {
  double median = 0, low = 0, high = 0;
};
/// Throws std::logic_error if there are no values. For fewer than six values the range is all of them.
MedianRange median_range(std::vector<double> values);

struct TraceBench {
  double untraced_seconds = 0;  ///< median step
  double traced_seconds = 0;    ///< median step
  MedianRange ratio;            ///< of a traced step to the untraced step next to it
  int64_t events = 0;           ///< for each step and rank
  /// Two readings of the clock and the event's publication, by themselves. For a device that works behind its
  /// calls this does not contain the cost of marks: only the ratio does.
  double event_seconds = 0;

  /// The cost of a step's events for a rank, as a share of the step.
  double share_by_events() const { return static_cast<double>(events) * event_seconds / untraced_seconds; }
};

/// Runs `rounds` pairs of a traced and an untraced step, whose order changes from pair to pair. A whole
/// model's step learns on its seeded batch. Throws what check_runnable() and the run throw, and a request
/// Error if ranks are in other processes, which are always traced.
TraceBench bench_trace(const std::shared_ptr<const Plan>& plan, int rounds);
/// The same on the ranks of `executor`, which nothing else may use.
TraceBench bench_trace(Executor& executor, const Program& program, int rounds);

}  // namespace shardlens
