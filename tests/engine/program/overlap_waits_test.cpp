// Which steps wait for overlapped collectives, and which no longer need to.
#include "engine/program/overlap_waits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/planner/planner.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace overlap_waits_test {

// What was in the lane before one waited is over: a row-parallel product in parts, forward, is no reason for
// the ranks' sums of the backward pass to wait for the replicas'.
TEST(OverlapWaits, WhoWaitedLeavesTheLaneEmpty) {
  for (const Recompute recompute : {Recompute::None, Recompute::Full}) {
    Settings settings = testing::small_model(2, 2);
    settings.model.hidden = 640;  // a few buckets
    settings.model.ffn = 2560;
    settings.model.layers = 3;
    settings.overlap_chunks = 2;
    settings.recompute = recompute;
    const Program program = plan_program(settings);
    const std::vector<bool> behind = waits_for_overlapped(program);
    int joins = 0, buckets = 0, sums_beside_buckets = 0;
    for (const Step& step : program.steps) {
      const bool waits = behind[static_cast<size_t>(step.id)];
      if (step.op == Op::Join) {
        ++joins;
        EXPECT_TRUE(waits) << step.name;
      }
      buckets += step.overlapped && step.axis == Axis::Dp;
      if (step.phase != Phase::Backward || step.overlapped || !is_collective(step.op)) continue;
      sums_beside_buckets += buckets > 0;
      EXPECT_FALSE(waits) << step.name;
    }
    EXPECT_GT(joins, 0);
    EXPECT_GT(sums_beside_buckets, 0);
  }
}

TEST(OverlapWaits, WhoeverNeedsASumWaitsForIt) {
  const Program program = plan_program(testing::small_layer(2));
  const std::vector<bool> behind = waits_for_overlapped(program);
  int sums = 0;
  for (const Step& step : program.steps) {
    if (!step.overlapped) continue;
    ++sums;
    const StepId needs_it = consumers_of(program, step.outputs[0]).front();
    EXPECT_TRUE(
        std::any_of(behind.begin() + step.id, behind.begin() + needs_it + 1, [](bool b) { return b; }));
    EXPECT_FALSE(behind[static_cast<size_t>(step.id) + 1]) << "the weight's gradient";
  }
  EXPECT_EQ(sums, 2);
}

}  // namespace overlap_waits_test
}  // namespace shardlens
