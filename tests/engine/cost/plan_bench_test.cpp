// The benchmark's models and plans have the sizes that it reports.
#include "engine/cost/plan_bench.h"

#include <gtest/gtest.h>

namespace shardlens {
namespace plan_bench_test {

TEST(PlanBench, PricesATrillionParametersAndHoldsFiveThousandPlans) {
  const PlanBench bench = bench_plan(2);
  EXPECT_GE(bench.parameters, 1'000'000'000'000);
  EXPECT_EQ(bench.plan_ranks, 8 * 6 * 64);
  EXPECT_EQ(bench.plan_seconds.size(), 2u);
  EXPECT_GE(bench.tournament_plans, 5000u);
  EXPECT_EQ(bench.tournament_seconds.size(), 2u);
}

}  // namespace plan_bench_test
}  // namespace shardlens
