// What happened, per rank and step. A rank writes its own track and publishes by one release store; a reader
// takes what is published with one acquire load, without a lock. No allocation while ranks run.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/planner/memory_plan.h"

namespace shardlens {

/// All times are seconds since the run began.
struct StepEvent {
  double begin_seconds = 0;
  double end_seconds = 0;
  double arrival_seconds = 0;      ///< collectives only: this rank reached the meeting
  double all_arrived_seconds = 0;  ///< collectives only: the last rank did; wait ends, transfer begins
  double held_seconds = 0;         ///< stood still on purpose before it began (Settings::delays)
  int64_t sent_bytes = 0;          ///< collectives only: this rank's share, counted by the communicator
  int64_t flops = 0;               ///< this rank's
  BytesByKind high_water_bytes{};  ///< most bytes each arena has held so far

  double seconds() const { return end_seconds - begin_seconds; }
  double wait_seconds() const { return all_arrived_seconds - arrival_seconds; }
  double transfer_seconds() const { return end_seconds - all_arrived_seconds; }
};

/// [step], of one rank's events: of a step that goes on beside the others, how long the rank's own thread
/// stood still meanwhile because it had to wait for the lane (engine/program/beside.h); 0 of the others, and
/// of steps that have no event.
std::vector<double> seconds_waited_beside(const Program& program, const std::vector<StepEvent>& events);

/// One rank's track: one event per step, published in step order: an event that comes early, because a step
/// before it goes on beside the rank, waits for that step's.
class RankTrace {
 public:
  explicit RankTrace(size_t steps) : events_(steps), known_(steps, false) {}
  /// Called by the rank and by what runs beside it.
  void publish(size_t step, const StepEvent& event);
  /// Forgets the events, while the rank stands still: it is about to start over.
  void reset();
  /// Steps finished; their events may be read while the rank goes on.
  size_t finished() const { return finished_.load(std::memory_order_acquire); }
  const StepEvent& event(size_t step) const { return events_[step]; }
  /// All events, once the rank has finished them.
  const std::vector<StepEvent>& events() const { return events_; }

 private:
  std::mutex writers_;
  std::vector<StepEvent> events_;
  std::vector<bool> known_;
  std::atomic<size_t> finished_{0};
};

}  // namespace shardlens
