// How long one process of a run waits for another.
#pragma once

#include <atomic>
#include <limits>

#include "engine/comm/departed.h"
#include "engine/config/clock.h"

namespace shardlens {

/// Shared by all in one process who wait for another one.
struct ProcessPatience {
  /// Null, or set, from a signal's handler too, when this process was told to end: mpirun tells all of them
  /// when it has lost one, and ends them itself a second later. Who waits then waits no more than a part of
  /// that second, so that there is time to say who was missed.
  const std::atomic<bool>* told_to_end = nullptr;
  std::atomic<double> seconds = std::numeric_limits<double>::infinity();
  const DepartedProcesses* departed = nullptr;  ///< null: of no process it is known whether it has ended

  bool has_ended(int process) const { return departed != nullptr && departed->has_ended(process); }
  bool is_told() const { return told_to_end != nullptr && told_to_end->load(); }
};

/// One wait for something that is asked for again and again.
class PatientWait {
 public:
  PatientWait(const std::atomic<bool>* told_to_end, double told_seconds)
      : told_to_end_(told_to_end), most_told_seconds_(told_seconds) {}

  /// Looks at the clock: has it waited for more than `most_seconds`, or been told to end?
  bool is_enough(double most_seconds) {
    const double passed = looks_.next_seconds();
    waited_seconds_ += passed;
    if (told_to_end_ != nullptr && *told_to_end_) told_seconds_ += passed;
    return waited_seconds_ > most_seconds || told_seconds_ > most_told_seconds_;
  }
  double waited_seconds() const { return waited_seconds_; }

 private:
  const std::atomic<bool>* const told_to_end_;
  const double most_told_seconds_;
  Looks looks_;
  double waited_seconds_ = 0, told_seconds_ = 0;
};

}  // namespace shardlens
