// Runs pairs of steps.
#include "engine/runtime/measure/trace_bench.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "engine/config/clock.h"
#include "engine/config/error.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/measure/step_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

constexpr int kEventRounds = 200;

// What run_step() does for an event, on a track of its own.
double seconds_of_event(size_t steps) {
  RankTrace track(steps);
  std::vector<double> seconds;
  for (int round = 0; round < kEventRounds; ++round) {
    track.reset();
    const double begin = now_seconds();
    for (size_t step = 0; step < steps; ++step) {
      StepEvent event;
      event.begin_seconds = now_seconds() - begin;
      event.end_seconds = now_seconds() - begin;
      track.publish(step, event);
    }
    seconds.push_back((now_seconds() - begin) / static_cast<double>(steps));
  }
  return median_of(seconds);
}

}  // namespace

MedianRange median_range(std::vector<double> values) {
  if (values.empty()) throw std::logic_error("a median needs at least one value");
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  // The number of values below the true median is binomial with p = 1/2; uses 1.96 of its standard
  // deviations.
  const auto first = static_cast<size_t>(std::max(0.0, std::floor((count - 1.96 * std::sqrt(count)) / 2)));
  return {median_of(values), values[first], values[values.size() - 1 - first]};
}

TraceBench bench_trace(const std::shared_ptr<const Plan>& plan, int rounds) {
  check_runnable(*plan);
  Executor executor(plan);
  return bench_trace(executor, plan->program, rounds);
}

TraceBench bench_trace(Executor& executor, const Program& program, int rounds) {
  for (int world = 0; world < program.ranks() * program.replicas(); ++world) {
    if (!executor.seats().is_here(world))
      throw request_error(
          "bench trace compares with steps that are not traced, and ranks in other processes are always "
          "traced: leave out --comm mpi");
  }
  const auto step = [&](bool traced) {
    executor.set_traced(traced);
    executor.next_pass();
    const double begin = now_seconds();
    executor.start(executor.steps());
    executor.wait();
    return now_seconds() - begin;
  };
  step(true);
  step(false);
  std::vector<double> untraced, traced, ratios;
  for (int round = 0; round < rounds; ++round) {
    double pair[2];
    for (int turn = 0; turn < 2; ++turn) {
      const bool is_traced = (turn + round) % 2 == 1;
      pair[is_traced] = step(is_traced);
    }
    untraced.push_back(pair[0]);
    traced.push_back(pair[1]);
    ratios.push_back(pair[1] / pair[0]);
  }
  TraceBench bench;
  bench.untraced_seconds = median_of(untraced);
  bench.traced_seconds = median_of(traced);
  bench.ratio = median_range(ratios);
  bench.events = static_cast<int64_t>(executor.steps());
  bench.event_seconds = seconds_of_event(executor.steps());
  return bench;
}

}  // namespace shardlens
