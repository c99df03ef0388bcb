// Which rank the next delay is for, and how long it is.
#pragma once

#include <cstdint>

namespace shardlens::ui {

struct DelayView {
  int rank = -1;  ///< of all T x D; -1: the selected rank
  int64_t milliseconds = 20;
  double timeout_before_seconds = -1;  ///< of the settings, before a rank was lost on purpose; -1: none was
};

}  // namespace shardlens::ui
