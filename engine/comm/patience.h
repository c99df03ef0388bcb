// How long one process of a run waits for another.
#pragma once

#include <atomic>
#include <limits>

#include "engine/comm/departed.h"
#include "engine/config/clock.h"

namespace shardlens {

/// Shared by all threads of one process that wait for another process.
struct ProcessPatience {
  /// Null, or set (also by a signal handler) when this process was told to end. mpirun tells all processes
  /// when it has lost one, and kills them itself a second later. A wait then lasts only a part of that second
  /// more, so that there is time to report which process was missing.
  const std::atomic<bool>* told_to_end = nullptr;
  std::atomic<double> seconds = std::numeric_limits<double>::infinity();
  const DepartedProcesses* departed = nullptr;  ///< null: it is not known which processes have ended

  bool has_ended(int process) const { return departed != nullptr && departed->has_ended(process); }
  bool is_told() const { return told_to_end != nullptr && told_to_end->load(); }
};

/// One wait for something that is polled again and again.
class PatientWait {
 public:
  PatientWait(const std::atomic<bool>* told_to_end, double told_seconds)
      : told_to_end_(told_to_end), most_told_seconds_(told_seconds) {}

  /// Looks at the clock. True if it has waited for more than `most_seconds`, or long enough after being told
  /// to end.
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
