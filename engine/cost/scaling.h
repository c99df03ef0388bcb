// How training scales over ranks: the paper's measurements, the cost model's curve on the paper's own
// machine, and the point where crossing the node boundary stops paying. The model is fitted to one number of
// the paper, the speed of one GPU. Everything after that is a prediction that can be compared with the
// paper's other numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/cost/model_price.h"

namespace shardlens {

enum class ScalingSeries { Weak, WeakWithReplicas, Strong, Heads };
std::string to_string(ScalingSeries series);  ///< "weak", "weak with replicas", "strong", "heads"

/// One configuration of the paper. For weak, replicas and heads the numbers are efficiencies against one
/// GPU's FLOP/s; for strong, a speed-up.
struct ScalingPoint {
  ScalingSeries series = ScalingSeries::Weak;
  std::string model;
  int tp = 1;
  int dp = 1;
  int64_t heads = 0;
  std::optional<double> paper;  ///< measured in the paper; empty if its text gives no number
  double estimated = 0;         ///< on paper_hardware(), without overlap
  double if_hidden = 0;         ///< the same, but the backward pass hides the replicas' all-reduces
  double flops_per_second = 0;  ///< estimated, all GPUs together, without overlap
};

/// Returns the DGX-2H preset with arithmetic slowed down until the 1.2 B model on one GPU runs at the paper's
/// 39 TFLOP/s, counted over all FLOPs that a step executes. Memory and links are those of the preset.
const Hardware& paper_hardware();

/// Returns a training step of the paper's scaling study: fp16, sequence 1024, 8 sequences a replica, each
/// layer recomputed in the backward pass.
Settings paper_settings(const std::string& model, int tp, int dp);

/// Returns Table 1's four models on T = 1, 2, 4, 8, alone and with 64 replicas; Table 8's strong scaling;
/// Table 7's heads.
std::vector<ScalingPoint> paper_scaling();

/// The effect of doubling T so that the group leaves its node: a layer computes half as long, but its
/// collectives cross nodes. C and K are the seconds that a layer computes and communicates on T ranks, and K'
/// the seconds that it communicates on 2T. The step gets shorter if C/2 > K' - K, that is if C/K > 2 (K'/K -
/// 1).
struct BreakEven {
  int tp = 1;                  ///< before doubling
  double compute_seconds = 0;  ///< C
  double near_seconds = 0;     ///< K
  double far_seconds = 0;      ///< K'
  double ratio() const { return compute_seconds / near_seconds; }
  double break_even_ratio() const { return 2 * (far_seconds / near_seconds - 1); }
  bool pays() const { return ratio() > break_even_ratio(); }
};

/// Estimates one layer of `settings`, forward and backward, on `hardware`: on settings.tp ranks of one node,
/// and on twice as many. Throws a request Error unless 2T is possible and leaves the node.
BreakEven break_even(Settings settings, const Hardware& hardware);

}  // namespace shardlens
