// Measured times as text. A time that is shorter than the steps of the clock that timed it was not measured.
#pragma once

#include <string>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui {

/// The steps of the clock behind a result, or of this machine's; 0: they are finer than anything that is shown.
double clock_step_of(const Result* result);

/// "12.3 µs"; "< 100 µs" for what is shorter than the clock's steps.
std::string measured_text(double seconds, double clock_step);
inline std::string measured_text(double seconds, const Result* result) {
  return measured_text(seconds, clock_step_of(result));
}

}  // namespace shardlens::ui
