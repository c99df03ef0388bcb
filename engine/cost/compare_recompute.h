// Computes what recomputation saves, from plans: the activations that a rank keeps if nothing, the attention
// probabilities, or each whole layer is run again in the backward pass.
#pragma once

#include <array>

#include "engine/config/settings.h"

namespace shardlens {

struct RecomputeCost {
  Recompute recompute = Recompute::None;
  int64_t activation_bytes = 0;  ///< of rank 0: the most that live at once, in any memory
};

/// Returns all three at the sizes of `settings`, with one plan each. Throws what plan_program() throws.
std::array<RecomputeCost, 3> compare_recompute(Settings settings);

}  // namespace shardlens
