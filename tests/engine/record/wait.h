// Waits until another thread or process has done something, however busy the machine is.
#pragma once

#include <string>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/worker.h"
#include "engine/record/recording.h"

namespace shardlens::testing {

/// Asks until `is_so()`; false when it never is.
template <typename IsSo>
bool comes(const IsSo& is_so) {
  constexpr double kNeverSeconds = 100;
  for (const double begin = now_seconds(); now_seconds() - begin < kNeverSeconds;) {
    if (is_so()) return true;
    let_workers_go_on(0.01);
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
