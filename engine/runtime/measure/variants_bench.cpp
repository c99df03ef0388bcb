// One executor for each variant; they run one after the other in every round.
#include "engine/runtime/measure/variants_bench.h"

#include <algorithm>
#include <memory>

#include "engine/planner/planner.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/measure/step_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

struct Candidate {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<Executor> executor;
  std::vector<double> seconds, of_first, compute, collective;
};

double run_once(Candidate& candidate) {
  Executor& executor = *candidate.executor;
  executor.next_pass();
  executor.start(executor.steps());
  executor.wait();
  const Program& program = candidate.plan->program;
  double seconds = 0, compute = 0, collective = 0;
  for (int rank = 0; rank < program.ranks() * program.replicas(); ++rank)
    for (const StepEvent& event : executor.trace(rank).events())
      seconds = std::max(seconds, event.end_seconds);
  for (const Step& step : program.steps) {
    const double taken = executor.trace(0).event(static_cast<size_t>(step.id)).seconds();
    (is_collective(step.op) ? collective : compute) += taken;
  }
  candidate.seconds.push_back(seconds);
  candidate.compute.push_back(compute);
  candidate.collective.push_back(collective);
  return seconds;
}

}  // namespace

std::vector<VariantTime> bench_variants(const std::vector<Settings>& variants, int rounds) {
  std::vector<Candidate> candidates;
  for (const Settings& settings : variants) {
    Candidate candidate;
    candidate.plan = make_plan(settings);
    check_runnable(*candidate.plan);
    candidate.executor = std::make_unique<Executor>(candidate.plan);
    candidates.push_back(std::move(candidate));
  }
  for (Candidate& candidate : candidates) run_once(candidate);
  for (Candidate& candidate : candidates) {
    candidate.seconds.clear();
    candidate.compute.clear();
    candidate.collective.clear();
  }
  for (int round = 0; round < rounds; ++round) {
    double first = 0;
    for (Candidate& candidate : candidates) {
      const double seconds = run_once(candidate);
      if (&candidate == &candidates.front()) first = seconds;
      candidate.of_first.push_back(seconds / first);
    }
  }
  std::vector<VariantTime> times;
  for (const Candidate& candidate : candidates) {
    const auto [lowest, highest] = std::minmax_element(candidate.of_first.begin(), candidate.of_first.end());
    times.push_back({median_of(candidate.seconds), median_of(candidate.of_first), *lowest, *highest,
                     median_of(candidate.compute), median_of(candidate.collective)});
  }
  return times;
}

}  // namespace shardlens
