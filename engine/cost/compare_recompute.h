// What recomputation saves, planned: the activations a rank keeps when nothing, the attention probabilities
// or each layer is run again in the backward pass.
#pragma once

#include <array>

#include "engine/config/settings.h"

namespace shardlens {

struct RecomputeCost {
  Recompute recompute = Recompute::None;
  int64_t activation_bytes = 0;  ///< of rank 0: the most that live at once, wherever they lie
};

/// The three of them at the sizes of `settings`, from a plan each. Throws what plan_program() throws.
std::array<RecomputeCost, 3> compare_recompute(Settings settings);

}  // namespace shardlens
