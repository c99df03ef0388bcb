// A whole pass as it would be if every step took its predicted time: the steps' costs laid out on the ranks'
// time, so that what is drawn and what is printed of one prediction agree.
#pragma once

#include <vector>

#include "engine/cost/price.h"
#include "engine/record/trace.h"

namespace shardlens {

/// [rank][step] of `cost`'s ranks, in seconds from the beginning of the pass. Ranks go on alone and meet at
/// collectives. What goes on beside the steps is taken to cost them nothing until one has to wait for it: so
/// it is where a copy engine or a network card sums. Where a core does, as on CPUs, it takes from the steps
/// meanwhile what it needs, which no prediction here knows.
std::vector<std::vector<StepEvent>> predicted_events(const Program& program,
                                                     const std::vector<std::vector<StepCost>>& cost);

/// When the last rank is done; 0 where the preset does not state its speed.
double predicted_pass_seconds(const Program& program, const std::vector<std::vector<StepCost>>& cost);

/// One rank's costs, but a step that goes on beside the others takes what they wait for it: the seconds then
/// add up to those of its pass.
std::vector<StepCost> costs_in_turn(const Program& program, std::vector<StepCost> costs);

}  // namespace shardlens
