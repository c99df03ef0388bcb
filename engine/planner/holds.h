// Turns Settings::delays into places in a Program: which rank waits before which step, and for how long.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

inline constexpr double kLongestDelayMilliseconds = 60'000;

/// A rank waits this long before it begins a step.
struct Hold {
  int rank = 0;  ///< world rank, replica by replica
  StepId step = 0;
  double seconds = 0;
  bool operator==(const Hold&) const = default;
};

/// One entry for each delay in the Program's settings. Throws a request Error if a delay names a rank or step
/// that does not exist, and the message lists the ones that do; or if a delay is not between 0 and
/// kLongestDelayMilliseconds.
std::vector<Hold> plan_holds(const Program& program);

/// The text by which a Delay names `step`: its name, or its id if an earlier step has the same name.
std::string delay_word(const Program& program, StepId step);

}  // namespace shardlens
