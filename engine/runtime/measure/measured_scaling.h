// The paper's scaling study on this machine, as far as its cores reach: one layer runs on T ranks of one core
// each. It asks what the paper asked of 512 GPUs. Everything here was run; nothing is estimated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/job.h"
#include "engine/cost/scaling.h"
#include "engine/runtime/measure/calibrate.h"

namespace shardlens {

/// One layer of the study: its T, and the size that the series changes.
struct ScalingRun {
  ScalingSeries series = ScalingSeries::Strong;
  Settings settings;
};

/// The layer that scaling_runs() measures for `settings`: one layer forward and backward as Megatron cuts it,
/// one core for each rank. fp64 stays; every other dtype becomes fp32, in which a single layer runs.
Settings scaling_layer(const Settings& settings);

/// Strong: the layer itself, on every T that has enough cores and divides its heads. Weak: on T ranks, a
/// layer with T times as many weights: a larger hidden size with the same head size. Heads: on the largest T,
/// the same hidden size in about two thirds, all and four thirds of the heads. The first run is T = 1; all
/// others are compared with it.
std::vector<ScalingRun> scaling_runs(const Settings& settings);

struct MeasuredPoint {
  ScalingSeries series = ScalingSeries::Strong;
  int tp = 1;
  int64_t hidden = 0, heads = 0;
  double seconds = 0;           ///< forward and backward, of the slowest rank, the fastest of the repetitions
  double flops_per_second = 0;  ///< all ranks together
  double value = 0;             ///< strong: speed-up; else FLOP/s for each rank over that of the first run
};

struct MeasuredScaling {
  Settings layer;  ///< as scaling_layer() made it
  std::string machine;
  size_t runs = 0;                    ///< how many runs there will be
  std::vector<MeasuredPoint> points;  ///< so far; T = 1 is in the strong and in the weak series
  bool complete() const { return runs > 0 && done == runs; }
  size_t done = 0;
};

/// Runs all of them, at most `repetitions` times each, and calls `on_point` after each. Throws what a run
/// throws, and what `measuring` or `on_point` throw.
MeasuredScaling measure_scaling(const Settings& settings, int repetitions, const Measuring& measuring = {},
                                const std::function<void(const MeasuredScaling&)>& on_point = {});
/// The same, in pieces of some steps.
Job<MeasuredScaling> measure_scaling_in_pieces(Settings settings, int repetitions, Measuring measuring,
                                               std::function<void(const MeasuredScaling&)> on_point);

}  // namespace shardlens
