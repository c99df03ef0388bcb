// What a run pays for being traced: the same step traced and untraced, in turn, so that a noisy machine
// disturbs both; and what one event costs by itself, which a noisy machine cannot hide.
#pragma once

#include <memory>

#include "engine/runtime/executor.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// A median and the order statistics that hold the true one between them 95 times in 100, whatever the
/// values' distribution.
struct MedianRange {
  double median = 0, low = 0, high = 0;
};
/// Throws std::logic_error where there are no values. Of fewer than six the range is all of them.
MedianRange median_range(std::vector<double> values);

struct TraceBench {
  double untraced_seconds = 0;  ///< median step
  double traced_seconds = 0;    ///< median step
  MedianRange ratio;            ///< of a traced step to the untraced one beside it
  int64_t events = 0;           ///< of a step and rank
  /// Two readings of the clock and the event's publication, by themselves. Of a device that works behind its
  /// calls not what it costs to be marked: that is in the ratio alone.
  double event_seconds = 0;

  /// What the events of a step cost a rank, as a part of the step.
  double share_by_events() const { return static_cast<double>(events) * event_seconds / untraced_seconds; }
};

/// `rounds` pairs of steps, each a traced and an untraced one, which of them comes first changing from pair
/// to pair. A whole model's step learns on its seeded batch. Throws what check_runnable() and the run throw,
/// and a request Error where ranks are in other processes, which are always traced.
TraceBench bench_trace(const std::shared_ptr<const Plan>& plan, int rounds);
/// The same on ranks that `executor` has, and nobody else uses.
TraceBench bench_trace(Executor& executor, const Program& program, int rounds);

}  // namespace shardlens
