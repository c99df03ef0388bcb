// The clock that everything in the engine is timed by.
#pragma once

#include <algorithm>
#include <chrono>

namespace shardlens {

/// Seconds of std::chrono::steady_clock.
inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Counts how long something is waited for by looking at it again and again. A look counts little, however
/// long it took: while this process was stopped as a whole, or the machine slept, nobody was late.
class Looks {
 public:
  /// Seconds since the look before, or since this was made; half a second at most.
  double next_seconds() {
    const double passed = now_seconds() - last_seconds_;
    last_seconds_ += passed;
    if (passed > kStoodStillSeconds) went_on_seconds_ = last_seconds_;
    return std::min(passed, kLongestSeconds);
  }
  /// Nobody looked because there was something else to do, which counts for nothing.
  void skip() { last_seconds_ = now_seconds(); }

  /// Whether this process stood still and has gone on a moment ago, seen from one that looks all the time.
  bool has_just_gone_on() const { return last_seconds_ - went_on_seconds_ < kMomentSeconds; }

 private:
  static constexpr double kLongestSeconds = 0.5, kStoodStillSeconds = 1, kMomentSeconds = 3;
  double last_seconds_ = now_seconds();
  double went_on_seconds_ = -1e9;
};

}  // namespace shardlens
