// Makes three plans, and measures what each keeps.
#include "engine/cost/compare_recompute.h"

#include <algorithm>

#include "engine/planner/memory_plan.h"
#include "engine/planner/planner.h"

namespace shardlens {

std::array<RecomputeCost, 3> compare_recompute(Settings settings) {
  std::array<RecomputeCost, 3> costs{{{Recompute::None}, {Recompute::Selective}, {Recompute::Full}}};
  for (RecomputeCost& cost : costs) {
    settings.recompute = cost.recompute;
    const MemoryPlan memory = plan_memory(plan_program(settings), 0);
    for (const BytesByKind& live : memory.live_bytes)
      cost.activation_bytes =
          std::max(cost.activation_bytes, live[static_cast<size_t>(MemoryKind::Activation)]);
  }
  return costs;
}

}  // namespace shardlens
