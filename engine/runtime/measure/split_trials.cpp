// Plans and runs split trials.
#include "engine/runtime/measure/split_trials.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/runtime/measure/rounds.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/sampler.h"

namespace shardlens {
namespace {

SplitTrial plan_trial(Settings settings, const Split& split) {
  SplitTrial trial;
  trial.split = settings.split = split;
  try {
    trial.plan = make_plan(plan_program(settings));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) throw;
    trial.refused = error.what();
    return trial;
  }
  const Program& program = trial.plan->program;
  for (const Step& step : program.steps) {
    trial.sent_bytes += sent_bytes(program, step.id);
    trial.flops += trial.plan->cost[0][static_cast<size_t>(step.id)].flops;
    if (is_collective(step.op))
      ++(step.phase == Phase::Forward ? trial.forward_collectives : trial.backward_collectives);
  }
  for (const MemoryPlan& rank : trial.plan->memory)
    trial.planned_bytes = std::max(trial.planned_bytes, total_bytes(rank.arena_bytes));
  trial.predicted_seconds = compare_times(*trial.plan, {}).predicted_seconds;
  return trial;
}

}  // namespace

bool SplitTrials::measured() const {
  return std::all_of(trials.begin(), trials.end(),
                     [](const SplitTrial& trial) { return trial.result || !trial.refused.empty(); });
}

SplitTrials plan_trials(const Settings& settings, const std::vector<Split>& splits) {
  const Hardware& hardware = find_hardware(settings.hardware);
  SplitTrials trials{settings, hardware.title + ": " + hardware.basis, machine_description(settings), {}};
  for (const Split& split : splits) trials.trials.push_back(plan_trial(settings, split));
  return trials;
}

void begin_rounds(SplitTrial& trial) {
  trial.round_seconds.clear();
  if (trial.plan) trial.refused.clear();
}

Job<> run_trial(SplitTrial& trial, RunWish wish) {
  if (!trial.plan || (trial.round_seconds.empty() && !trial.refused.empty())) co_return;
  try {
    const bool is_first = trial.round_seconds.empty();
    // Beside other splits a tensor is drawn small: its exact values are not kept.
    std::shared_ptr<Sampler> sampler;
    if (is_first)
      sampler = std::make_shared<Sampler>(trial.plan->program, plan_samples(trial.plan->program, 0),
                                          Sampler::NotFinite::StopsTheRun);
    std::vector<std::shared_ptr<StepObserver>> observers;
    if (sampler) observers.push_back(sampler);
    MeasuredRun run = co_await measure_in_pieces(trial.plan, observers, wish);
    const double seconds = run.times.measured_seconds;
    const bool is_fastest = is_first || seconds < spread_of(trial.round_seconds).least;
    trial.round_seconds.push_back(seconds);
    trial.measured_seconds = spread_of(trial.round_seconds).median;
    if (!is_fastest) co_return;
    auto result = std::make_shared<Result>();
    result->plan = trial.plan;
    result->communicator = run.communicator;
    result->machine = run.times.measured_on;
    result->samples = sampler ? sampler->samples() : trial.result->samples;
    result->high_water_bytes = run.high_water_bytes;
    set_times(*result, std::move(run.events));
    trial.result = std::move(result);
    trial.measured_bytes = 0;
    for (const BytesByKind& rank : run.high_water_bytes)
      trial.measured_bytes = std::max(trial.measured_bytes, total_bytes(rank));
    trial.refused.clear();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) throw;
    trial.refused = error.what();
  }
}

}  // namespace shardlens
