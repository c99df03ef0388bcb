// Where a Program's ranks are made late: Settings::delays, found in its steps.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

inline constexpr double kLongestDelayMilliseconds = 60'000;

/// A rank stands still for so long before it begins a step.
struct Hold {
  int rank = 0;  ///< of all T x D, replica by replica
  StepId step = 0;
  double seconds = 0;
  bool operator==(const Hold&) const = default;
};

/// Of every delay in the Program's settings. Throws a request Error that says which ranks and steps there are
/// where one names none of them, or is not between 0 and kLongestDelayMilliseconds.
std::vector<Hold> plan_holds(const Program& program);

/// What a Delay calls `step`: its name, or its id where a step before it has the same name.
std::string delay_word(const Program& program, StepId step);

}  // namespace shardlens
