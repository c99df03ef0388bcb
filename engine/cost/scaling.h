// How training scales over ranks: the paper's measurements, the cost model's curve on the paper's own
// machine, and where crossing the node boundary stops paying. The idea: the model is fitted to one number of
// the paper, the speed of one GPU, and everything after that is a prediction held against the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/cost/model_price.h"

namespace shardlens {

enum class ScalingSeries { Weak, WeakWithReplicas, Strong, Heads };
std::string to_string(ScalingSeries series);  ///< "weak", "weak with replicas", "strong", "heads"

/// One configuration of the paper. Weak, replicas and heads are efficiencies against one GPU's FLOP/s; strong
/// is a speed-up.
struct ScalingPoint {
  ScalingSeries series = ScalingSeries::Weak;
  std::string model;
  int tp = 1;
  int dp = 1;
  int64_t heads = 0;
  std::optional<double> paper;  ///< measured there; nothing where its text gives no number
  double estimated = 0;         ///< on paper_hardware(), nothing overlapping
  double if_hidden = 0;         ///< the same with the replicas' all-reduces behind the backward pass
  double flops_per_second = 0;  ///< estimated, all GPUs together, nothing overlapping
};

/// The DGX-2H preset with the arithmetic slowed down until the 1.2 B model on one GPU runs at the paper's 39
/// TFLOP/s, counted over all FLOPs a step executes; memory and links as the preset states them.
const Hardware& paper_hardware();

/// A training step as the paper's scaling study runs it: fp16, sequence 1024, 8 sequences a replica, each
/// layer recomputed in the backward pass.
Settings paper_settings(const std::string& model, int tp, int dp);

/// Table 1's four models on T = 1, 2, 4, 8, alone and with 64 replicas; Table 8's strong scaling; Table 7's
/// heads.
std::vector<ScalingPoint> paper_scaling();

/// Doubling T, so that the group leaves its node: a layer computes half as long, and its collectives cross.
/// With C and K the seconds that a layer computes and communicates on T ranks, and K' the seconds it
/// communicates on 2T, the step shortens while C/2 > K' - K, that is while C/K > 2 (K'/K - 1).
struct BreakEven {
  int tp = 1;                  ///< before
  double compute_seconds = 0;  ///< C
  double near_seconds = 0;     ///< K
  double far_seconds = 0;      ///< K'
  double ratio() const { return compute_seconds / near_seconds; }
  double break_even_ratio() const { return 2 * (far_seconds / near_seconds - 1); }
  bool pays() const { return ratio() > break_even_ratio(); }
};

/// One layer of `settings`, forward and backward, on settings.tp ranks of a node of the same size and on
/// twice as many: estimated on `hardware`. Throws a request Error unless 2T is possible and leaves the node.
BreakEven break_even(Settings settings, const Hardware& hardware);

}  // namespace shardlens
