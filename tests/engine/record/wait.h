// Waits until another thread or process has done something, however busy the machine is.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/record/recording.h"

namespace shardlens::testing {

/// Asks until `is_so()`; false when it never is.
template <typename IsSo>
bool comes(const IsSo& is_so) {
  constexpr double kNeverSeconds = 100;
  for (const double begin = now_seconds(); now_seconds() - begin < kNeverSeconds;) {
    if (is_so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return is_so();
}

/// Its writer has made it.
inline bool can_be_opened(const std::string& recording) {
  try {
    const Recording opened(recording);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace shardlens::testing
