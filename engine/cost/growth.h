// How a training step's time grows: with the model from a million to a billion parameters, with T, with the
// sequence and with the batch. Here are the sizes and what the cost model says of each;
// engine/runtime/measure/growth_bench.h runs them. GROWTH.md keeps what was found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/hardware.h"
#include "engine/config/settings.h"

namespace shardlens {

enum class GrowthAxis { Model, Ranks, Sequence, Batch };
inline constexpr int kGrowthAxes = 4;
std::string to_string(GrowthAxis axis);  ///< "model", "ranks", "sequence", "batch"

struct GrowthPoint {
  GrowthAxis axis = GrowthAxis::Model;
  double size = 0;  ///< parameters, ranks, tokens of a sequence, or sequences of a batch
  Settings settings;
};

/// A GPT of one family, which differ by little but their size: heads of 64, 4,096 words. `size` counts from 0
/// (a million parameters, about) to kGrowthModels - 1 (a billion), each about three times the one before.
inline constexpr int kGrowthModels = 7;
Model growth_model(int size, int64_t positions);

/// The model whose T, sequence and batch grow: 30 million parameters in 16 heads, so that T = 16 has one
/// each.
Model growth_middle_model(int64_t positions);

/// A point for every size of every axis, an axis after the other, ascending: whole training steps, of
/// `base`'s T, split, dtype and recompute. Models are run on one sequence of base.seq tokens, T on base.batch
/// of them, sequences one at a time. A point may be one that validate() refuses.
std::vector<GrowthPoint> growth_points(const Settings& base);

/// The cost model's step on `hardware`: price_model().
double predicted_seconds(const GrowthPoint& point, const Hardware& hardware);

}  // namespace shardlens
