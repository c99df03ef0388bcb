// From group sizes to ranks.
#include "engine/program/collective_group.h"

namespace shardlens {

int first_rank_of_group(const Program& program, const Step& step, int rank) {
  if (step.axis == Axis::Dp) return rank % program.tp();
  const int size = group_ranks(program, step);
  return rank / size * size;
}

std::vector<int> ranks_of_group(const Program& program, const Step& step, int rank) {
  const int first = first_rank_of_group(program, step, rank);
  const int apart = step.axis == Axis::Dp ? program.tp() : 1;
  std::vector<int> ranks;
  for (int i = 0; i < group_ranks(program, step); ++i) ranks.push_back(first + i * apart);
  return ranks;
}

}  // namespace shardlens
