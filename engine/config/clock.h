// The clock that everything in the engine is timed by.
#pragma once

#include <chrono>

namespace shardlens {

/// Seconds of std::chrono::steady_clock.
inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace shardlens
