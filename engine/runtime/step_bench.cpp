// Timing a layer beside its ceiling.
#include "engine/runtime/step_bench.h"

#include <algorithm>
#include <vector>

#include "engine/device/device.h"
#include "engine/runtime/ceiling.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Timing {
  double seconds = 0;
  double collective_seconds = 0;
};

Timing time_once(Executor& executor, const Program& program) {
  executor.rewind();
  executor.start(executor.steps());
  executor.wait();
  Timing timing;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    const RankTrace& trace = executor.trace(rank);
    double in_collectives = 0;
    for (const Step& step : program.steps) {
      if (is_collective(step.op)) in_collectives += trace.event(static_cast<size_t>(step.id)).seconds();
    }
    timing.seconds = std::max(timing.seconds, trace.event(program.steps.size() - 1).end_seconds);
    timing.collective_seconds = std::max(timing.collective_seconds, in_collectives);
  }
  return timing;
}

}  // namespace

StepBench bench_layer_step(const std::shared_ptr<const Plan>& plan, int repetitions) {
  check_runnable(*plan);
  const Program& program = plan->program;
  StepBench bench;
  for (const auto& rank : plan->cost) {
    for (const StepCost& cost : rank)
      bench.flops += program.settings.model.causal ? cost.causal_flops : cost.flops;
  }
  const std::vector<GemmShape> shapes = gemm_shapes(program, 0);
  Executor executor(plan);
  time_once(executor, program);

  std::vector<double> seconds, ceilings, ratios;
  std::vector<Timing> timings;
  for (int i = 0; i < repetitions; ++i) {
    const Timing timing = time_once(executor, program);
    const double ceiling =
        measure_gemm_ceiling(program.settings.dtype, shapes, available_cores(), 1, 1).best().median_flops;
    timings.push_back(timing);
    seconds.push_back(timing.seconds);
    ceilings.push_back(ceiling);
    ratios.push_back(static_cast<double>(bench.flops) / timing.seconds / ceiling);
  }
  bench.median_seconds = median(seconds);
  bench.lowest_seconds = *std::min_element(seconds.begin(), seconds.end());
  bench.highest_seconds = *std::max_element(seconds.begin(), seconds.end());
  bench.ceiling_flops = median(ceilings);
  bench.of_ceiling = median(ratios);
  for (const Timing& timing : timings) {
    if (timing.seconds == bench.median_seconds) bench.collective_seconds = timing.collective_seconds;
  }
  return bench;
}

}  // namespace shardlens
