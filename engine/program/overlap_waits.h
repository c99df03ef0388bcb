// Finds the steps that must wait for overlapped collectives. A lane runs overlapped collectives one after the
// other. A step that needs a tensor of the lane waits until the lane is empty.
#pragma once

#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// Returns, for each step, true if it waits until the lane is empty. A step waits if it uses a tensor that an
/// earlier overlapped step still works on, or if it is a collective on the same axis: the ranks of a group
/// make their calls in one order.
std::vector<bool> waits_for_overlapped(const Program& program);

}  // namespace shardlens
