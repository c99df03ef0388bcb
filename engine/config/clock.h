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
    const double now = now_seconds();
    const double passed = std::min(now - last_seconds_, kLongestSeconds);
    last_seconds_ = now;
    return passed;
  }

 private:
  static constexpr double kLongestSeconds = 0.5;
  double last_seconds_ = now_seconds();
};

}  // namespace shardlens
