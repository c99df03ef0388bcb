// The steps of a pass over few tokens that a device may do at once. Each is so short that its launch takes as
// long as its work. They stay steps of the Program: a pass that is watched runs them one by one, to the same
// bits.
#pragma once

#include "engine/program/program.h"

namespace shardlens {

/// True if `next`, the step after `step`, may be joined to it in a pass over new tokens of a cache: a product
/// to the LayerNorm before it, a sum with a bias to the product before it, and attention to the append of its
/// keys and values.
bool joins(const Program& program, const Step& step, const Step& next);

/// Returns the last of the steps that are joined to `step`, or its own id.
StepId last_joined(const Program& program, const Step& step);

}  // namespace shardlens
