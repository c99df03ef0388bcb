// One executor for each number of parts, run one after the other in every round.
#include "engine/runtime/overlap_bench.h"

#include <memory>

#include "engine/planner/planner.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/step_bench.h"

namespace shardlens {
namespace {

struct Candidate {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<Executor> executor;
  std::vector<double> seconds, of_whole, compute, collective;
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

std::vector<OverlapPoint> bench_overlap(const Settings& settings, const std::vector<int>& chunks,
                                        int rounds) {
  std::vector<Candidate> candidates;
  for (const int parts : chunks) {
    Settings divided = settings;
    divided.overlap_chunks = parts;
    Candidate candidate;
    candidate.plan = make_plan(divided);
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
    double whole = 0;
    for (Candidate& candidate : candidates) {
      const double seconds = run_once(candidate);
      if (&candidate == &candidates.front()) whole = seconds;
      candidate.of_whole.push_back(seconds / whole);
    }
  }
  std::vector<OverlapPoint> points;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    points.push_back({chunks[i], median_of(candidate.seconds), median_of(candidate.of_whole),
                      median_of(candidate.compute), median_of(candidate.collective)});
  }
  return points;
}

}  // namespace shardlens
