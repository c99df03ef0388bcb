// How long threads took that work side by side, each by its own clock: whoever waits for them all is late to
// look at both ends.
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
