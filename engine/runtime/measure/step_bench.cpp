// Times a layer or a whole model beside its ceiling.
#include "engine/runtime/measure/step_bench.h"

#include <algorithm>
#include <map>
#include <vector>

#include "engine/base/rate.h"
#include "engine/device/device.h"
#include "engine/runtime/measure/ceiling.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/processes/process_world.h"
#include "engine/runtime/resident.h"

namespace shardlens {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t above = values.size() / 2, below = (values.size() - 1) / 2;
  return (values[below] + values[above]) / 2;
}

std::vector<OpTime> time_by_op(const RankTrace& trace, const Program& program) {
  std::map<std::pair<Op, bool>, double> seconds;
  for (const Step& step : program.steps)
    seconds[{step.op, step.overlapped}] += trace.event(static_cast<size_t>(step.id)).seconds();
  std::vector<OpTime> times;
  for (const auto& [kind, total] : seconds) times.push_back({kind.first, kind.second, total});
  std::sort(times.begin(), times.end(),
            [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
  return times;
}

namespace {

struct Timing {
  double seconds = 0;
  double collective_seconds = 0;
  std::vector<OpTime> op_times;
  std::vector<std::vector<StepEvent>> events;  // [rank, replica by replica][step]
};

Timing time_once(Executor& executor, const Program& program) {
  executor.next_pass();  // an optimizer continues from its last step
  executor.start(executor.steps());
  executor.wait();
  Timing timing;
  for (int rank = 0; rank < program.tp() * program.dp(); ++rank) {
    const RankTrace& trace = executor.trace(rank);
    const std::vector<double> waited = seconds_waited_overlapped(program, trace.events());
    double in_collectives = 0;
    for (const Step& step : program.steps) {
      const auto at = static_cast<size_t>(step.id);
      in_collectives += step.overlapped ? waited[at] : is_collective(step.op) ? trace.event(at).seconds() : 0;
    }
    timing.seconds = std::max(timing.seconds, trace.event(program.steps.size() - 1).end_seconds);
    timing.collective_seconds = std::max(timing.collective_seconds, in_collectives);
  }
  timing.events = executor.events(program.tp() * program.dp());
  timing.op_times = time_by_op(executor.trace(0), program);
  return timing;
}

// The rates of the fastest shape, one for each repetition. It is the fastest shape over all repetitions: the
// best of each repetition would be the luckiest moment among all shapes, which no step can sustain for
// seconds.
std::vector<double> rates_of_fastest(const std::vector<GemmCeiling>& ceilings) {
  std::vector<double> fastest;
  for (size_t shape = 0; shape < ceilings.front().rates.size(); ++shape) {
    std::vector<double> rates;
    for (const GemmCeiling& ceiling : ceilings) rates.push_back(ceiling.rates[shape].median_flops);
    if (fastest.empty() || median_of(rates) > median_of(fastest)) fastest = rates;
  }
  return fastest;
}

// Parameters and both moments are read and written, gradients are read; if there are master weights, the
// 16-bit weights are only written.
int64_t adamw_bytes(const Program& program, int rank) {
  int64_t bytes = 0;
  const auto held = [&](const Step& step, Operand operand) {
    return local_bytes(program.tensor(input_of(program, step, operand)), program.tp(), rank);
  };
  for (const Step& step : program.steps) {
    if (step.op != Op::AdamW) continue;
    using enum Operand;
    bytes += held(step, Gradient) + 2 * (held(step, FirstMoment) + held(step, SecondMoment));
    bytes += input_place(program, step, Master) ? 2 * held(step, Master) + held(step, Parameter)
                                                : 2 * held(step, Parameter);
  }
  return bytes;
}

}  // namespace

StepBench bench_step(const std::shared_ptr<const Plan>& plan, int repetitions,
                     const std::function<Recorder*(const Executor&)>& recorder) {
  check_runnable(*plan);
  const Program& program = plan->program;
  StepBench bench;
  bench.flops = model_flops(*plan);
  const std::vector<GemmShape> shapes = gemm_shapes(program, 0);
  reset_resident_peak();
  const int64_t resident_before = resident_bytes();
  Executor executor(plan);
  Recorder* const recording = recorder ? recorder(executor) : nullptr;
  if (recording != nullptr && recording->pictures()) executor.observe({recording->pictures()});
  time_once(executor, program);
  executor.observe({});
  if (recording != nullptr) recording->take(executor);
  // Before the first measurement of the ceiling, because its operands do not belong to the step.
  bench.start_resident_bytes = resident_peak_bytes() - resident_before;
  reset_resident_peak();

  std::vector<double> seconds, ratios;
  std::vector<GemmCeiling> measured;
  std::vector<Timing> timings;
  // A GPU lowers its clocks under such a load. A step after it would be measured on a hotter card than in
  // training, where step follows step.
  const bool in_turn = gpus_of(program.settings).empty();
  for (int i = 0; i < repetitions; ++i) {
    const Timing timing = time_once(executor, program);
    if (i == 0) bench.step_resident_bytes = resident_peak_bytes() - resident_before;
    if (recording != nullptr) recording->take(executor);
    if (in_turn) measured.push_back(measure_ceiling(program.settings, shapes, 1));
    timings.push_back(timing);
    seconds.push_back(timing.seconds);
  }
  while (measured.size() < timings.size()) measured.push_back(measure_ceiling(program.settings, shapes, 1));
  std::vector<double> ceilings = rates_of_fastest(measured);
  for (size_t i = 0; i < ceilings.size(); ++i) {
    ceilings[i] *= ceilings_of_all_ranks(*plan);
    ratios.push_back(ratio_or_zero(per_second(static_cast<double>(bench.flops), seconds[i]), ceilings[i]));
  }
  for (int rank = 0; rank < program.tp(); ++rank) {
    bench.planned_bytes.push_back(total_bytes(plan->memory[static_cast<size_t>(rank)].arena_bytes));
    bench.high_water_bytes.push_back(total_bytes(executor.high_water_bytes(rank)));
  }
  for (int world = 0; world < program.tp() * program.dp(); ++world)
    if (executor.seats().is_here(world))
      bench.planned_here_bytes += bench.planned_bytes[static_cast<size_t>(world % program.tp())];
  bench.median_seconds = median_of(seconds);
  bench.lowest_seconds = *std::min_element(seconds.begin(), seconds.end());
  bench.highest_seconds = *std::max_element(seconds.begin(), seconds.end());
  bench.ceiling_flops = median_of(ceilings);
  bench.of_ceiling = median_of(ratios);
  bench.lowest_of_ceiling = *std::min_element(ratios.begin(), ratios.end());
  bench.highest_of_ceiling = *std::max_element(ratios.begin(), ratios.end());
  for (const Timing& timing : timings) {
    if (timing.seconds == bench.median_seconds) bench.collective_seconds = timing.collective_seconds;
    if (timing.seconds != bench.lowest_seconds) continue;
    bench.op_times = timing.op_times;
    for (const OpTime& time : timing.op_times)
      if (time.op == Op::AdamW)
        bench.adamw_bytes_per_second = per_second(static_cast<double>(adamw_bytes(program, 0)), time.seconds);
    bench.times = compare_times(*plan, timing.events);
    bench.late = lateness_of(program, timing.events);
  }
  return bench;
}

}  // namespace shardlens
