// The time that several threads took together. Each thread reads the clock itself, because a thread that
// waits for the others would read it too late.
#pragma once

#include <algorithm>
#include <chrono>

namespace shardlens {

struct Interval {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin, end;

  /// From the earlier begin to the later end.
  void include(const Interval& other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
  double seconds() const { return std::chrono::duration<double>(end - begin).count(); }
};

}  // namespace shardlens
