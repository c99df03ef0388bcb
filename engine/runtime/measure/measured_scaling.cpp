// Runs the scaling study on this machine.
#include "engine/runtime/measure/measured_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "engine/base/rate.h"
#include "engine/base/worker.h"
#include "engine/config/heads.h"
#include "engine/config/splits.h"
#include "engine/planner/planner.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

constexpr double kLongEnoughSeconds = 2;  // the repetitions' total, after three of them
constexpr int kLeastRepetitions = 3;
constexpr double kPollSeconds = 0.02;  // how soon a Stop of the user takes effect

// Returns `layer` with this many heads of the same size.
Settings with_heads_of_its_size(Settings layer, int64_t heads) {
  const int64_t head = layer.model.hidden / layer.model.heads;
  const double widened = static_cast<double>(layer.model.ffn) / static_cast<double>(layer.model.hidden);
  layer.model.heads = heads;
  layer.model.hidden = heads * head;
  layer.model.ffn = std::llround(widened * static_cast<double>(layer.model.hidden));
  return layer;
}

double distance(double a, double b) {
  return std::abs(std::log(a / b));
}

// Returns the multiple of `tp` that is nearest to `heads`, by ratio.
int64_t nearest_multiple(double heads, int tp) {
  const auto below = std::max<int64_t>(tp, static_cast<int64_t>(heads) / tp * tp);
  const int64_t above = below + tp;
  return distance(static_cast<double>(above), heads) < distance(static_cast<double>(below), heads) ? above
                                                                                                   : below;
}

// The ways to cut `hidden` into heads that T divides.
std::vector<int64_t> possible_heads(int64_t hidden, int tp) {
  std::vector<int64_t> possible;
  for (int64_t heads = tp; heads <= hidden / 8; heads += tp) {
    if (hidden % heads == 0) possible.push_back(heads);
  }
  return possible;
}

int64_t all_flops(const Plan& plan) {
  int64_t flops = 0;
  for (const std::vector<StepCost>& rank : plan.cost) {
    for (const StepCost& step : rank) flops += step.flops;
  }
  return flops;
}

struct Ran {
  double seconds = 0;
  int64_t flops = 0;
};

Job<Ran> run(const Settings& settings, int repetitions, const Measuring& measuring, std::string doing,
             double share) {
  const std::shared_ptr<const Plan> plan = make_plan(plan_program(settings));
  check_runnable(*plan);
  Executor executor(plan);
  Ran ran{std::numeric_limits<double>::max(), all_flops(*plan)};
  const auto begin = std::chrono::steady_clock::now();
  for (int repetition = -1; repetition < repetitions; ++repetition) {  // the first one warms up
    executor.next_pass();
    executor.start(executor.steps());
    measuring.tell(doing, share);
    while (!executor.wait_for(std::min(kPollSeconds, kPieceSeconds))) {
      co_await GiveWay();
      measuring.tell(doing, share);
    }
    double seconds = 0;
    for (int rank = 0; rank < plan->program.tp(); ++rank)
      seconds = std::max(seconds, executor.trace(rank).events().back().end_seconds);
    if (repetition >= 0) ran.seconds = std::min(ran.seconds, seconds);
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (repetition + 1 >= kLeastRepetitions && elapsed > kLongEnoughSeconds) break;
  }
  co_return ran;
}

}  // namespace

Settings scaling_layer(const Settings& settings) {
  Settings layer;
  layer.model = settings.model;
  layer.split = named_split("megatron");
  layer.dtype = settings.dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32;
  layer.batch = settings.micro_batch();
  layer.seq = settings.seq;
  layer.seed = settings.seed;
  layer.threads_per_rank = 1;
  return layer;
}

std::vector<ScalingRun> scaling_runs(const Settings& settings) {
  const Settings layer = scaling_layer(settings);
  std::vector<ScalingRun> runs{{ScalingSeries::Strong, layer}};
  const std::vector<int> degrees = degrees_with_cores();
  for (const int tp : degrees) {
    if (tp == 1 || !divides_heads(layer.model, tp)) continue;
    runs.push_back({ScalingSeries::Strong, layer});
    runs.back().settings.tp = tp;
  }
  if (layer.model.is_grouped()) return runs;  // other heads would share keys differently
  for (const int tp : degrees) {
    if (tp == 1) continue;
    const double grown = static_cast<double>(layer.model.heads) * std::sqrt(tp);
    runs.push_back({ScalingSeries::Weak, with_heads_of_its_size(layer, nearest_multiple(grown, tp))});
    runs.back().settings.tp = tp;
  }
  const int most = degrees.back();
  if (most == 1) return runs;
  std::vector<int64_t> possible = possible_heads(layer.model.hidden, most);
  for (const double part : {2.0 / 3, 1.0, 4.0 / 3}) {
    if (possible.empty()) break;
    const double wanted = part * static_cast<double>(layer.model.heads);
    const auto nearest = std::min_element(possible.begin(), possible.end(), [wanted](int64_t a, int64_t b) {
      return distance(static_cast<double>(a), wanted) < distance(static_cast<double>(b), wanted);
    });
    runs.push_back({ScalingSeries::Heads, layer});
    runs.back().settings.model.heads = *nearest;
    runs.back().settings.tp = most;
    possible.erase(nearest);
  }
  return runs;
}

MeasuredScaling measure_scaling(const Settings& settings, int repetitions, const Measuring& measuring,
                                const std::function<void(const MeasuredScaling&)>& on_point) {
  return run_whole(measure_scaling_in_pieces(settings, repetitions, measuring, on_point));
}

Job<MeasuredScaling> measure_scaling_in_pieces(Settings settings, int repetitions, Measuring measuring,
                                               std::function<void(const MeasuredScaling&)> on_point) {
  const std::vector<ScalingRun> runs = scaling_runs(settings);
  MeasuredScaling measured;
  measured.layer = scaling_layer(settings);
  measured.machine = machine_description(settings);
  measured.runs = runs.size();
  Ran alone;
  for (const ScalingRun& one : runs) {
    const Settings& s = one.settings;
    const std::string doing = fmt::format("{}: T = {}, hidden {} in {} heads", to_string(one.series), s.tp,
                                          s.model.hidden, s.model.heads);
    const double share = static_cast<double>(measured.done) / static_cast<double>(runs.size());
    const Ran ran = co_await run(s, repetitions, measuring, doing, share);
    if (measured.done == 0) alone = ran;
    MeasuredPoint point{one.series, s.tp, s.model.hidden, s.model.heads, ran.seconds};
    point.flops_per_second = per_second(static_cast<double>(ran.flops), ran.seconds);
    const double speed_alone = per_second(static_cast<double>(alone.flops), alone.seconds);
    point.value = one.series == ScalingSeries::Strong
                      ? ratio_or_zero(alone.seconds, ran.seconds)
                      : ratio_or_zero(point.flops_per_second / s.tp, speed_alone);
    measured.points.push_back(point);
    if (measured.done++ == 0) {
      point.series = ScalingSeries::Weak;
      measured.points.push_back(point);
    }
    if (on_point) on_point(measured);
  }
  co_return measured;
}

}  // namespace shardlens
