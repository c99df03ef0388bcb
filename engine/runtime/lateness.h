// What a straggler costs, read from what was measured: a rank stood still before a step, the others waited
// for it where they met, and the pass ended later.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"
#include "engine/record/trace.h"

namespace shardlens {

/// One rank that stood still before one step, and what came of it. What would have been without it is
/// reckoned from the pass itself: every step takes the time it took, ranks meet when the last of them is
/// there, and only the standing still is left out.
struct Lateness {
  int rank = 0;  ///< of all T x D, replica by replica
  StepId step = 0;
  double held_seconds = 0;    ///< it stood still for so long
  int waiting_ranks = 0;      ///< others that waited longer for it
  double waited_seconds = 0;  ///< by so much, all of them together; what they waited anyway is not in it
  double longer_seconds = 0;  ///< the pass took, than it would have by these times
  bool operator==(const Lateness&) const = default;
};

/// Of every event of a pass whose rank was held, in step order. `events` [rank, replica by replica][step]; of
/// replicas that are left out, what they did is taken to stay the same.
std::vector<Lateness> lateness_of(const Program& program, const std::vector<std::vector<StepEvent>>& events);

/// "rank 2 was late by 20.0 ms before attn.proj: 3 ranks together waited 59.8 ms longer; on time, the pass
/// would have ended 20.1 ms sooner". Not what two runs differ by: where cores are shared, the others have
/// more of them while it stands still.
std::string to_sentence(const Program& program, const Lateness& lateness);

}  // namespace shardlens
