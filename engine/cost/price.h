// What a step costs, counted from the Program without running it: FLOPs, bytes sent, bytes touched, and the
// time an alpha-beta model predicts on a hardware preset. The same steps the executor times, so predicted and
// measured always speak of the same thing.
#pragma once

#include <vector>

#include "engine/config/hardware.h"
#include "engine/program/program.h"

namespace shardlens {

struct StepCost {
  int64_t flops = 0;          ///< this rank's, of matrix products; attention counted as if there were no mask
  int64_t causal_flops = 0;   ///< the same with the masked half of attention left out
  int64_t sent_bytes = 0;     ///< ring figure, collectives only
  int64_t touched_bytes = 0;  ///< read and written by this rank
  double predicted_seconds = 0;  ///< on the hardware preset; 0 when the preset does not say its speed
};

/// One rank's cost of every step. A step that computes takes the longer of its FLOPs at the peak of its dtype
/// and its bytes at the memory's bandwidth, so an element-wise step, whose few FLOPs are not counted, is
/// priced by its bytes. A collective takes collective_seconds().
std::vector<StepCost> price(const Program& program, const Hardware& hardware, int rank);

/// The alpha-beta time of a ring collective over `ranks` ranks of which each sends `sent_bytes`: an
/// all-reduce makes 2(T-1) hops, the others T-1, each costs alpha, and the bytes pass the slowest link. A
/// group larger than a node crosses between nodes, and then every hop waits for that one. 0 when the preset
/// does not say its links' speed.
double collective_seconds(Collective collective, int64_t sent_bytes, int ranks, const Hardware& hardware);

}  // namespace shardlens
