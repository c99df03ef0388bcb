// Plans every split of one model and counts what it costs a rank.
#include "engine/cost/compare_splits.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/config/hardware.h"
#include "engine/config/splits.h"
#include "engine/cost/price.h"
#include "engine/planner/memory_plan.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

SplitCost cost_of(Settings settings, const Split& split) {
  SplitCost cost;
  cost.split = split;
  settings.split = split;
  try {
    const Program program = plan_program(settings);
    for (const Step& step : program.steps)
      if (is_collective(step.op))
        cost.meetings.push_back(
            {step.op, step.phase, converted_words(program, step), sent_bytes(program, step.id)});
    for (const Meeting& meeting : cost.meetings) cost.sent_bytes += meeting.sent_bytes;
    for (const StepCost& step : price(program, find_hardware(settings.hardware), 0)) cost.flops += step.flops;
    cost.arena_bytes = total_bytes(plan_memory(program, 0).arena_bytes);
  } catch (const Error& error) {
    cost.refused = error.what();
  }
  return cost;
}

}  // namespace

std::vector<SplitCost> compare_splits(const Settings& settings) {
  std::vector<Split> splits = named_splits();
  const auto same = [&](const Split& split) { return split.name == settings.split.name; };
  if (std::none_of(splits.begin(), splits.end(), same)) splits.insert(splits.begin(), settings.split);
  std::vector<SplitCost> costs;
  for (const Split& split : splits) costs.push_back(cost_of(settings, split));
  return costs;
}

}  // namespace shardlens
