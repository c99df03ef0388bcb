// How a training step's time grows: with the model from a million to a billion parameters, with T, with the
// sequence and with the batch. This file has the sizes and the cost model's predictions;
// engine/runtime/measure/growth_bench.h runs them. GROWTH.md has the results.
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

/// Returns a GPT of one family whose members differ almost only in size: heads of 64, 4,096 words. `size`
/// counts from 0 (about a million parameters) to kGrowthModels - 1 (a billion), each about three times the
/// one before.
inline constexpr int kGrowthModels = 7;
Model growth_model(int size, int64_t positions);

/// Returns the model for the axes of T, sequence and batch: 30 million parameters in 16 heads, so that at T =
/// 16 each rank has one head.
Model growth_middle_model(int64_t positions);

/// Returns a point for every size of every axis, one axis after the other, ascending: whole training steps,
/// with `base`'s T, split, dtype and recompute. The Model axis uses one sequence of base.seq tokens, the
/// Ranks axis base.batch sequences, the Sequence axis one sequence at a time. validate() may refuse some
/// points.
std::vector<GrowthPoint> growth_points(const Settings& base);

/// Returns the seconds of a step that the cost model predicts on `hardware`: price_model().
double predicted_seconds(const GrowthPoint& point, const Hardware& hardware);

}  // namespace shardlens
