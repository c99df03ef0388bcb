// Who meets whom in a collective, in world numbers: ranks of all replicas are numbered through, replica by
// replica.
#pragma once

#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// The first of the ranks that meet in `step` with `rank`: of its replica, of those that hold its slice, or,
/// on the axis Dp, of the replicas.
int first_of_meeting(const Program& program, const Step& step, int rank);
/// All of them, ascending; group_ranks() in number.
std::vector<int> meeting_of(const Program& program, const Step& step, int rank);

}  // namespace shardlens
