// The state of Setup's delays: the rank and the length of the next one.
#pragma once

#include <cstdint>

namespace shardlens::ui {

struct DelayView {
  int rank = -1;  ///< world rank; -1: the selected rank
  int64_t milliseconds = 20;
  double timeout_before_seconds = -1;  ///< time-out before a rank was lost on purpose; -1: none was
};

}  // namespace shardlens::ui
