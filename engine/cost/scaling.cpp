// The paper's tables, with a price for the same configurations.
#include "engine/cost/scaling.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/error.h"
#include "engine/config/presets.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

constexpr double kOneGpuFlops = 39e12;  // paper, section 1: sustained by the 1.2 B model

double speed(const Settings& settings, const Hardware& hardware) {
  const ModelPrice price = price_model(settings, hardware);
  return static_cast<double>(price.sum.flops) / price.step_seconds;
}

ScalingPoint efficiency(ScalingSeries series, const std::string& model, int tp, int dp,
                        std::optional<double> paper) {
  const Settings settings = paper_settings(model, tp, dp);
  const ModelPrice price = price_model(settings, paper_hardware());
  const auto flops = static_cast<double>(price.sum.flops);
  ScalingPoint point{series, settings.model.title, tp, dp, settings.model.heads, paper};
  point.flops_per_second = flops / price.step_seconds * (tp * dp);
  point.estimated = flops / price.step_seconds / kOneGpuFlops;
  // With recomputation, the backward pass is three quarters of the computing time; it can hide at most that
  // much.
  const double hidden = std::min(price.sum.dp_seconds, 0.75 * price.sum.compute_seconds);
  point.if_hidden = flops / (price.step_seconds - hidden) / kOneGpuFlops;
  return point;
}

struct LayerSeconds {
  double compute = 0, collectives = 0;
};

LayerSeconds layer_seconds(const Settings& settings, const Hardware& hardware) {
  const Program program = plan_program(settings);
  const CostSum sum = sum_costs(program, price(program, hardware, 0));
  return {sum.compute_seconds, sum.tp_seconds};
}

}  // namespace

std::string to_string(ScalingSeries series) {
  switch (series) {
    case ScalingSeries::Weak:
      return "weak";
    case ScalingSeries::WeakWithReplicas:
      return "weak with replicas";
    case ScalingSeries::Strong:
      return "strong";
    case ScalingSeries::Heads:
      return "heads";
  }
  return {};
}

Settings paper_settings(const std::string& model, int tp, int dp) {
  Settings settings;
  settings.block = Block::Model;
  settings.model = model_preset(model);
  settings.tp = tp;
  settings.dp = dp;
  settings.vocab_ranks = 8;  // 51,200 words for every T
  settings.dtype = DType::Fp16;
  settings.batch = 8 * dp;
  settings.seq = 1024;
  settings.recompute = Recompute::Full;
  settings.fusion = Fusion::Off;  // as far as we know, the paper's system fused none of these passes
  settings.update = true;
  settings.hardware = "v100-32gb";
  return settings;
}

const Hardware& paper_hardware() {
  static const Hardware fitted = [] {
    Hardware hardware = find_hardware("v100-32gb");
    hardware.title = "DGX-2H, fitted";
    hardware.basis =
        "data-sheet memory and links; arithmetic fitted to one figure of the paper, 39 TFLOP/s on one GPU";
    const Settings settings = paper_settings("megatron-1.2b", 1, 1);
    double slow = kOneGpuFlops, fast = hardware.fp16_flops;
    for (int i = 0; i < 40; ++i) {
      hardware.fp16_flops = (slow + fast) / 2;
      (speed(settings, hardware) < kOneGpuFlops ? slow : fast) = hardware.fp16_flops;
    }
    return hardware;
  }();
  return fitted;
}

std::vector<ScalingPoint> paper_scaling() {
  struct Row {
    const char* model;
    int tp;
  };
  constexpr Row kTable1[] = {
      {"megatron-1.2b", 1}, {"megatron-2.5b", 2}, {"megatron-4.2b", 4}, {"megatron-8.3b", 8}};
  std::vector<ScalingPoint> points;
  for (const auto& [model, tp] : kTable1) {
    const std::optional<double> paper = tp == 8   ? std::optional(0.77)
                                        : tp == 1 ? std::optional(1.0)
                                                  : std::nullopt;
    points.push_back(efficiency(ScalingSeries::Weak, model, tp, 1, paper));
  }
  for (const auto& [model, tp] : kTable1) {
    const std::optional<double> paper = tp == 8 ? std::optional(0.74) : std::nullopt;
    points.push_back(efficiency(ScalingSeries::WeakWithReplicas, model, tp, 64, paper));
  }
  const std::pair<int, double> strong[] = {{1, 1.0}, {2, 1.64}, {4, 2.34}, {8, 2.98}};
  const double alone = price_model(paper_settings("megatron-1.2b", 1, 1), paper_hardware()).step_seconds;
  for (const auto& [tp, speed_up] : strong) {
    ScalingPoint point = efficiency(ScalingSeries::Strong, "megatron-1.2b", tp, 1, speed_up);
    point.estimated = point.if_hidden =
        alone / price_model(paper_settings("megatron-1.2b", tp, 1), paper_hardware()).step_seconds;
    points.push_back(point);
  }
  const std::pair<const char*, double> heads[] = {
      {"megatron-8.3b-16-heads", 0.82}, {"megatron-8.3b-24-heads", 0.80}, {"megatron-8.3b", 0.77}};
  for (const auto& [model, paper] : heads)
    points.push_back(efficiency(ScalingSeries::Heads, model, 8, 1, paper));
  return points;
}

BreakEven break_even(Settings settings, const Hardware& hardware) {
  settings.block = Block::Layer;
  settings.batch /= settings.dp;
  settings.dp = 1;
  BreakEven result;
  result.tp = settings.tp;
  if (settings.tp < 2 || settings.tp > hardware.ranks_per_node ||
      2 * settings.tp <= hardware.ranks_per_node || hardware.nodes == 1) {
    throw request_error(fmt::format("doubling T = {} does not leave a node of {} ranks: try T = {}",
                                    settings.tp, hardware.ranks_per_node, hardware.ranks_per_node));
  }
  const LayerSeconds near = layer_seconds(settings, hardware);
  settings.tp *= 2;
  const LayerSeconds far = layer_seconds(settings, hardware);
  result.compute_seconds = near.compute;
  result.near_seconds = near.collectives;
  result.far_seconds = far.collectives;
  if (result.near_seconds <= 0)
    throw request_error(hardware.title + " does not state its links' speed, or the split sends nothing");
  return result;
}

}  // namespace shardlens
