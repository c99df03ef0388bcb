// What steps that go on beside the others mean for those: a lane does them one after the other, and who needs
// what is still in it waits until it is empty.
#pragma once

#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// [step]: it waits until the lane is empty, because it touches what an earlier step still works on beside
/// the others, or meets the ranks of the same axis, who make their calls in one order.
std::vector<bool> waits_for_overlapped(const Program& program);

}  // namespace shardlens
