// Measures how long it takes to plan without running anything: the price of a model with a trillion
// parameters, and a tournament of thousands of plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens {

/// A trillion parameters in fp16 on 3,072 GPUs: T = 8, 64 stages, D = 6, 512 parts, activations recomputed.
struct TrillionPlan {
  Settings settings;
  int stages = 1;
};
TrillionPlan trillion_plan();

/// Megatron's 8.3 B model on 16 GPUs in two nodes.
struct LargeTournament {
  Settings settings;
  int ranks = 1;
  size_t listed = 10;
};
LargeTournament large_tournament();

struct PlanBench {
  int64_t parameters = 0;
  int64_t plan_ranks = 0;            ///< T x D x P
  std::vector<double> plan_seconds;  ///< of every repetition, in order
  size_t tournament_plans = 0;
  std::vector<double> tournament_seconds;
};

/// Runs each of the two once, so that files are read, and then `repetitions` times.
PlanBench bench_plan(int repetitions);

}  // namespace shardlens
