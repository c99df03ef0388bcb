// From group sizes to ranks.
#include "engine/program/meeting.h"

namespace shardlens {

int first_of_meeting(const Program& program, const Step& step, int rank) {
  if (step.axis == Axis::Dp) return rank % program.tp();
  const int size = group_ranks(program, step);
  return rank / size * size;
}

std::vector<int> meeting_of(const Program& program, const Step& step, int rank) {
  const int first = first_of_meeting(program, step, rank);
  const int apart = step.axis == Axis::Dp ? program.tp() : 1;
  std::vector<int> ranks;
  for (int i = 0; i < group_ranks(program, step); ++i) ranks.push_back(first + i * apart);
  return ranks;
}

}  // namespace shardlens
