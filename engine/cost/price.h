// What a step costs, counted from the Program without running it: FLOPs, bytes sent, bytes touched, and the
// time an alpha-beta model predicts on a hardware preset. The same steps the executor times, so predicted and
// measured always speak of the same thing.
#pragma once

#include <vector>

#include "engine/config/hardware.h"
#include "engine/program/program.h"

namespace shardlens {

struct StepCost {
  int64_t flops = 0;             ///< this rank's; attention counted whole, as if there were no mask
  int64_t causal_flops = 0;      ///< the same with the masked half of attention left out
  int64_t sent_bytes = 0;        ///< ring figure, collectives only
  int64_t touched_bytes = 0;     ///< read and written by this rank
  double predicted_seconds = 0;  ///< on the hardware preset; 0 when the preset does not say its speed
};

/// One rank's cost of every step.
std::vector<StepCost> price(const Program& program, const Hardware& hardware, int rank);

}  // namespace shardlens
