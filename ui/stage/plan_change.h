// What a change of T, split or model did to the plan: in a sentence, and step by step. It compares two plans,
// so every figure in it is planned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui::stage {

struct PlanChange {
  std::string title;       ///< "T 4 → 8, split megatron → reversed"; empty: another change, or none
  std::string figures;     ///< "+6 collectives · 18 → 63 MiB sent by a rank · memory of a rank +12 %"
  std::vector<bool> came;  ///< by step of the new plan: the old one has no step like it; empty: not compared
  std::vector<std::string> left;  ///< the old plan's collectives that the new one does not have, by name
};

/// Steps are compared only if both plans are of the same part of the same model.
PlanChange plan_change(const Plan& before, const Plan& after);

/// The change from the plan shown before to the plan shown now. It is shown until the next click.
struct ChangeView {
  std::shared_ptr<const Plan> plan;  ///< shown in the last frame
  PlanChange change;
};

}  // namespace shardlens::ui::stage
