// Times the two tasks.
#include "engine/cost/plan_bench.h"

#include "engine/base/clock.h"
#include "engine/config/presets.h"
#include "engine/cost/model_price.h"
#include "engine/cost/tournament.h"
#include "engine/planner/parameters.h"

namespace shardlens {
namespace {

template <class Work>
std::vector<double> timed(int repetitions, const Work& work) {
  work();
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const double begin = now_seconds();
    work();
    seconds.push_back(now_seconds() - begin);
  }
  return seconds;
}

}  // namespace

TrillionPlan trillion_plan() {
  TrillionPlan plan;
  plan.stages = 64;
  Settings& s = plan.settings;
  s.block = Block::Model;
  s.model = model_preset("gpt-1t");
  s.tp = 8;
  s.dp = 6;
  s.micro_batches = 512;
  s.batch = 3072;
  s.seq = 2048;
  s.dtype = DType::Fp16;
  s.recompute = Recompute::Full;
  s.update = true;
  s.hardware = "a100-80gb";
  return plan;
}

LargeTournament large_tournament() {
  LargeTournament tournament;
  tournament.ranks = 16;
  Settings& s = tournament.settings;
  s.block = Block::Model;
  s.model = model_preset("megatron-8.3b");
  s.batch = 16;
  s.seq = 1024;
  s.dtype = DType::Fp16;
  s.recompute = Recompute::Full;
  s.update = true;
  s.hardware = "a100-80gb-2-nodes";
  return tournament;
}

PlanBench bench_plan(int repetitions) {
  PlanBench bench;
  const TrillionPlan plan = trillion_plan();
  bench.parameters = parameter_count(plan.settings.model);
  bench.plan_seconds = timed(repetitions, [&] {
    bench.plan_ranks = price_model(plan.settings, find_hardware(plan.settings.hardware), plan.stages).ranks;
  });
  const LargeTournament large = large_tournament();
  const Hardware& hardware = find_hardware(large.settings.hardware);
  bench.tournament_seconds = timed(repetitions, [&] {
    bench.tournament_plans = hold_tournament(large.settings, large.ranks, hardware,
                                             memory_of_a_rank(hardware, large.ranks), large.listed)
                                 .entrants.size();
  });
  return bench;
}

}  // namespace shardlens
