// The group of ranks that meet in a collective, by their world ranks: replica by replica.
#pragma once

#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// The first rank of the group that `rank` is in for `step`: of its replica, of the ranks that hold its slice
/// or, on the axis Dp, of the replicas.
int first_rank_of_group(const Program& program, const Step& step, int rank);
/// All ranks of that group, ascending; there are group_ranks() of them.
std::vector<int> ranks_of_group(const Program& program, const Step& step, int rank);

}  // namespace shardlens
