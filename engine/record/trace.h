// The trace of a run: what happened, per rank and step. A rank writes its own track and publishes with one
// release store. A reader reads what is published with one acquire load, without a lock. Nothing is allocated
// while ranks run.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/planner/memory_plan.h"

namespace shardlens {

/// All times are seconds since the run began. On a device that works behind its calls, a step begins where
/// the work before it ended: its time includes the gap between the two.
struct StepEvent {
  double begin_seconds = 0;
  double end_seconds = 0;
  double arrival_seconds = 0;      ///< collectives only: this rank arrived
  double all_arrived_seconds = 0;  ///< collectives only: the last rank arrived; wait ends, transfer begins
  double held_seconds = 0;         ///< time it was delayed on purpose before it began (Settings::delays)
  int64_t sent_bytes = 0;          ///< collectives only: bytes this rank sent, counted by the communicator
  int64_t flops = 0;               ///< by this rank
  /// The device did so many steps with one call, and their time is known only together: this step's begin and
  /// end are an estimated share of it. 1: it has its own time.
  int32_t timed_together = 1;
  BytesByKind high_water_bytes{};  ///< the most bytes that each arena has held so far

  double seconds() const { return end_seconds - begin_seconds; }
  double wait_seconds() const { return all_arrived_seconds - arrival_seconds; }
  double transfer_seconds() const { return end_seconds - all_arrived_seconds; }
};

/// [step], of one rank's events: for an overlapped step, how long the rank's own thread had to wait for the
/// lane (engine/program/overlap_waits.h). 0 for other steps, and for steps without an event.
std::vector<double> seconds_waited_overlapped(const Program& program, const std::vector<StepEvent>& events);

/// One rank's track: one event per step, published in step order. If an earlier step is overlapped and not
/// finished, the events after it wait for its event.
class RankTrace {
 public:
  explicit RankTrace(size_t steps) : events_(steps), known_(steps, false) {}
  /// Called by the rank and by the thread that runs its overlapped steps.
  void publish(size_t step, const StepEvent& event);
  /// Clears the events before the rank starts over. Call while the rank is idle.
  void reset();
  /// The number of finished steps. Their events can be read while the rank goes on.
  size_t finished() const { return finished_.load(std::memory_order_acquire); }
  const StepEvent& event(size_t step) const { return events_[step]; }
  /// All events. Call when the rank has finished them.
  const std::vector<StepEvent>& events() const { return events_; }

 private:
  std::mutex writers_;
  std::vector<StepEvent> events_;
  std::vector<bool> known_;
  std::atomic<size_t> finished_{0};
};

}  // namespace shardlens
