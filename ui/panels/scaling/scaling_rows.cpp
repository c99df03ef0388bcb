// Figures and words of the Scaling tab.
#include "ui/panels/scaling/scaling_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/presets.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr double kOneGpuTera = 39, kManyGpusPeta = 15.1;  // paper, section 1
constexpr int kManyGpus = 512;

std::vector<ScalingSeries> series_of(ScalingPage page) {
  switch (page) {
    case ScalingPage::Weak:
      return {ScalingSeries::Weak, ScalingSeries::WeakWithReplicas};
    case ScalingPage::Strong:
      return {ScalingSeries::Strong};
    case ScalingPage::Heads:
      return {ScalingSeries::Heads};
    default:
      return {};
  }
}

double x_of(const ScalingPoint& point) {
  return static_cast<double>(point.series == ScalingSeries::Heads ? point.heads : point.tp * point.dp);
}

std::string configuration(const ScalingPoint& point) {
  return fmt::format("{}, T = {}{}, {} heads", point.model, point.tp,
                     point.dp > 1 ? fmt::format(", D = {}", point.dp) : "", point.heads);
}

ScalingCurve paper_curve(ScalingSeries series, ScalingPage page, const PaperScaling& paper) {
  ScalingCurve curve{Source::Paper, to_string(series), {}};
  for (const ScalingPoint& point : paper.points) {
    if (point.series != series || !point.paper) continue;
    curve.dots.push_back({x_of(point), *point.paper, std::nullopt,
                          fmt::format("{}\n{}, measured by the paper's authors", configuration(point),
                                      scaling_text(page, *point.paper))});
  }
  return curve;
}

ScalingCurve model_curve(ScalingSeries series, ScalingPage page, const PaperScaling& paper) {
  ScalingCurve curve{Source::Model, to_string(series), {}};
  for (const ScalingPoint& point : paper.points) {
    if (point.series != series) continue;
    curve.dp = point.dp;
    ScalingDot dot{x_of(point), point.estimated, std::nullopt, {}};
    dot.what = fmt::format("{}\n{} estimated on {}\n{} by all GPUs", configuration(point),
                           scaling_text(page, point.estimated), paper.predicted_on,
                           format_flops(point.flops_per_second));
    if (point.if_hidden > point.estimated) {
      dot.best = point.if_hidden;
      dot.what += fmt::format("\n{} if the replicas' all-reduces hide behind the backward pass",
                              scaling_text(page, point.if_hidden));
    }
    curve.dots.push_back(std::move(dot));
  }
  return curve;
}

ScalingCurve measured_curve(ScalingSeries series, ScalingPage page, const MeasuredScaling& measured) {
  ScalingCurve curve{Source::Here, to_string(series), {}};
  for (const MeasuredPoint& point : measured.points) {
    if (point.series != series) continue;
    const double x = static_cast<double>(series == ScalingSeries::Heads ? point.heads : point.tp);
    curve.dots.push_back({x, point.value, std::nullopt,
                          fmt::format("T = {}, hidden {} in {} heads\n{} measured: {}, {} by all ranks",
                                      point.tp, point.hidden, point.heads, scaling_text(page, point.value),
                                      format_seconds(point.seconds), format_flops(point.flops_per_second))});
  }
  return curve;
}

}  // namespace

std::string scaling_text(ScalingPage page, double value) {
  return page == ScalingPage::Strong ? fmt::format("{:.2f} ×", value) : format_percent(value);
}

std::string source_name(Source source) {
  switch (source) {
    case Source::Paper:
      return "The paper";
    case Source::Model:
      return "The estimate";
    case Source::Here:
      return "This machine";
  }
  return {};
}

std::vector<ScalingCurve> scaling_curves(ScalingPage page, const ScalingSnapshot& scaling) {
  std::vector<ScalingCurve> curves;
  const auto take = [&](ScalingCurve curve) {
    std::sort(curve.dots.begin(), curve.dots.end(),
              [](const ScalingDot& a, const ScalingDot& b) { return a.x < b.x; });
    if (!curve.dots.empty()) curves.push_back(std::move(curve));
  };
  for (const ScalingSeries series : series_of(page)) {
    if (scaling.paper) take(paper_curve(series, page, *scaling.paper));
  }
  for (const ScalingSeries series : series_of(page)) {
    if (scaling.paper) take(model_curve(series, page, *scaling.paper));
  }
  for (const ScalingSeries series : series_of(page)) {
    if (scaling.measured) take(measured_curve(series, page, *scaling.measured));
  }
  return curves;
}

std::string source_words(Source source, ScalingPage page, const ScalingSnapshot& scaling) {
  switch (source) {
    case Source::Paper: {
      const std::string where =
          "measured by its authors in 2019 on DGX-2H servers, V100 32 GB; arXiv:1909.08053, ";
      if (page == ScalingPage::Strong) return where + "Table 8: 1.2 B parameters at a fixed batch.";
      if (page == ScalingPage::Heads) return where + "Table 7: 8.3 B parameters on 8 GPUs.";
      return where + fmt::format(
                         "Figure 5, whose percentages are the points. Its abstract says {:.0f} %: {} "
                         "PFLOP/s on {} GPUs, divided by {} times {} TFLOP/s of one GPU.",
                         100 * kManyGpusPeta * 1e3 / (kManyGpus * kOneGpuTera), kManyGpusPeta, kManyGpus,
                         kManyGpus, kOneGpuTera);
    }
    case Source::Model: {
      if (!scaling.paper) return "not estimated yet.";
      std::string words =
          fmt::format("estimated on {}: {}. ", scaling.paper->predicted_on, scaling.paper->basis);
      if (page == ScalingPage::Weak)
        return words +
               "With replicas it is a range: from no overlap to all-reduces that hide behind the backward "
               "pass.";
      if (page == ScalingPage::Strong)
        return words + "It leaves out launches and the slower small products, so it is an upper bound.";
      return words + "Heads change no FLOPs, so the estimate stays the same.";
    }
    case Source::Here: {
      if (!scaling.measured) return "not measured yet.";
      const MeasuredScaling& m = *scaling.measured;
      std::string words =
          fmt::format("measured on {}: one layer of {}, {}, batch {} × sequence {}, one core per rank",
                      m.machine, m.layer.model.title, to_string(m.layer.dtype), m.layer.batch, m.layer.seq);
      if (page == ScalingPage::Weak) words += "; on T ranks its weights are about T times as many";
      if (page == ScalingPage::Heads) words += fmt::format("; hidden {} on all cores", m.layer.model.hidden);
      return words + (m.complete() ? "." : fmt::format(". {} of {} runs so far.", m.done, m.runs));
    }
  }
  return {};
}

PageWords page_words(ScalingPage page) {
  switch (page) {
    case ScalingPage::Weak:
      return {"Weak scaling", "The model grows with the ranks. FLOP/s of each rank against one rank alone."};
    case ScalingPage::Strong:
      return {"Strong scaling",
              "The same model and batch on more ranks: how many times as fast as one rank."};
    case ScalingPage::Heads:
      return {"Heads",
              "The same model cut into more attention heads, each smaller. FLOP/s against one rank alone."};
    case ScalingPage::BreakEven:
      return {"Break-even",
              "Twice the ranks halve the computing, but their collectives leave the node. When does it pay?"};
    case ScalingPage::Cluster:
      return {"Cluster",
              "A training step on T × D × P devices: planned, not run here. All figures are estimates."};
  }
  return {};
}

scaling_command::PriceCrossing crossing_wish(const ScalingView& view, const Settings& run) {
  Settings settings = paper_settings("megatron-8.3b", 8, 1);
  if (view.this_run) {
    settings = run;
    settings.dp = 1;
    settings.batch = run.micro_batch();
    settings.micro_batches = 1;
    settings.block = Block::Layer;
    settings.update = false;
    settings.cache_tokens = 0;
    settings.weights_path.clear();
    settings.input = {};
  }
  settings.hardware = view.crossing;
  settings.tp = find_hardware(view.crossing).ranks_per_node;
  return {settings};
}

scaling_command::PriceCluster cluster_wish(const ScalingView& view) {
  Settings settings;
  settings.block = Block::Model;
  settings.model = model_preset(view.model);
  settings.tp = static_cast<int>(view.tp);
  settings.dp = static_cast<int>(view.dp);
  settings.micro_batches = static_cast<int>(view.parts);
  settings.batch = view.dp * view.parts;
  settings.seq = settings.model.positions;
  settings.dtype = DType::Fp16;
  settings.recompute = Recompute::Full;
  settings.update = true;
  settings.hardware = view.cluster;
  return {settings, static_cast<int>(view.pp)};
}

std::vector<int64_t> cluster_tp_stops(const Model& model) {
  std::vector<int64_t> stops;
  for (const int64_t tp : {1, 2, 4, 8, 16, 32}) {
    if (model.heads % tp == 0) stops.push_back(tp);
  }
  return stops;
}

std::vector<int64_t> cluster_pp_stops(const Model& model) {
  std::vector<int64_t> stops;
  for (int64_t pp = 1; pp <= model.layers; ++pp) {
    if (model.layers % pp == 0) stops.push_back(pp);
  }
  return stops;
}

std::vector<int64_t> cluster_dp_stops() {
  return {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
}

std::vector<int64_t> cluster_parts_stops() {
  return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
}

std::vector<std::string> cluster_models() {
  return {"megatron-1.2b", "megatron-2.5b", "megatron-4.2b", "megatron-8.3b", "gpt3-175b", "gpt-1t"};
}

std::vector<std::string> node_machines() {
  std::vector<std::string> names;
  for (const Hardware& hardware : hardware_presets()) {
    if (hardware.nodes == 0 && hardware.node_bytes_per_second > 0) names.push_back(hardware.name);
  }
  return names;
}

}  // namespace shardlens::ui
