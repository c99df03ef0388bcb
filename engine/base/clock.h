// The steady clock in seconds, and a way to count how long a loop has waited.
#pragma once

#include <algorithm>
#include <chrono>

namespace shardlens {

/// Seconds of std::chrono::steady_clock.
inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Measures a wait by polling: each look adds the time since the last one. One look never adds more than half
/// a second, because if the whole process was stopped, or the machine slept, no rank was late.
class Looks {
 public:
  /// Returns the seconds since the last look, or since construction; half a second at most.
  double next_seconds() {
    const double passed = now_seconds() - last_seconds_;
    last_seconds_ += passed;
    if (passed > kStoodStillSeconds) went_on_seconds_ = last_seconds_;
    return std::min(passed, kLongestSeconds);
  }
  /// Call it after other work between two looks: that time does not count.
  void skip() { last_seconds_ = now_seconds(); }

  /// True if this process was stopped and went on a moment ago, as seen by a thread that looks all the time.
  bool has_just_gone_on() const { return last_seconds_ - went_on_seconds_ < kMomentSeconds; }

 private:
  static constexpr double kLongestSeconds = 0.5, kStoodStillSeconds = 1, kMomentSeconds = 3;
  double last_seconds_ = now_seconds();
  double went_on_seconds_ = -1e9;
};

}  // namespace shardlens
