// What a straggler costs, computed from measured times: a rank stood still before a step, the others waited
// for it in a collective, and the pass ended later.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"
#include "engine/record/trace.h"

namespace shardlens {

/// One rank that stood still before one step, and what this caused. The times without it are computed from
/// the pass itself: every step takes the time that it took, a collective begins when its last rank arrives,
/// and only the standing still is left out.
struct Lateness {
  int rank = 0;  ///< world rank: numbered replica by replica
  StepId step = 0;
  double held_seconds = 0;    ///< how long it stood still
  int waiting_ranks = 0;      ///< other ranks that waited longer because of it
  double waited_seconds = 0;  ///< how much longer, summed over them; what they waited anyway is not included
  double longer_seconds = 0;  ///< how much longer the pass took than without it, by these times
  bool operator==(const Lateness&) const = default;
};

/// Returns one entry for every event of a pass whose rank was held, in step order. `events`: [world rank,
/// replica by replica][step]. If replicas are left out, their times are taken as unchanged.
std::vector<Lateness> lateness_of(const Program& program, const std::vector<std::vector<StepEvent>>& events);

/// "rank 2 was late by 20.0 ms before attn.proj: 3 ranks together waited 59.8 ms longer; without the delay,
/// the pass would have ended 20.1 ms sooner". This is not the difference between two runs: if cores are
/// shared, the other ranks have more of them while it stands still.
std::string to_sentence(const Program& program, const Lateness& lateness);

}  // namespace shardlens
