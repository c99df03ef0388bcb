// The contents of the Scaling tab, read from a ScalingSnapshot: three kinds of points that are never mixed,
// and the source of each kind in words. Nothing here draws.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/session/scaling_snapshot.h"
#include "ui/context.h"
#include "ui/panels/scaling/scaling_view.h"

namespace shardlens::ui {

enum class Source { Paper, Model, Here };  ///< measured there, estimated, measured on this machine

struct ScalingDot {
  double x = 1;  ///< GPUs or ranks; on the page of heads, heads
  double value = 0;
  std::optional<double> best;  ///< for the model: if the replicas' all-reduces hide behind the backward pass
  std::string what;            ///< the configuration, in words
};

struct ScalingCurve {
  Source source = Source::Paper;
  std::string name;
  std::vector<ScalingDot> dots;  ///< ascending in x
  int dp = 1;                    ///< the model's points: replicas, D
};

/// The curves of a page, the paper's first; curves without points are left out.
std::vector<ScalingCurve> scaling_curves(ScalingPage page, const ScalingSnapshot& scaling);

/// The source of a kind of points, on this page.
std::string source_words(Source source, ScalingPage page, const ScalingSnapshot& scaling);
std::string source_name(Source source);

/// "77 %", or for a speed-up "2.98 ×".
std::string scaling_text(ScalingPage page, double value);

/// The headline of a page and the meaning of its points.
struct PageWords {
  std::string title, explanation;
};
PageWords page_words(ScalingPage page);

/// The requests to the engine for the pages break-even and cluster.
scaling_command::PriceCrossing crossing_wish(const ScalingView& view, const Settings& run);
scaling_command::PriceCluster cluster_wish(const ScalingView& view);

/// The stops of the cluster's sliders: T divides the heads and is at most two nodes; P divides the layers.
std::vector<int64_t> cluster_tp_stops(const Model& model);
std::vector<int64_t> cluster_pp_stops(const Model& model);
std::vector<int64_t> cluster_dp_stops();
std::vector<int64_t> cluster_parts_stops();
/// The models of the cluster's page, as presets.
std::vector<std::string> cluster_models();
/// The machines that have nodes, as presets.
std::vector<std::string> node_machines();

}  // namespace shardlens::ui
