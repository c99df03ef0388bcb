// A pass's predicted time: which steps are added, and which are overlapped.
#include "engine/cost/pass_time.h"

#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/planner/planner.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace pass_time_test {

using testing::small_model;

double sum_of(const std::vector<StepCost>& costs) {
  double seconds = 0;
  for (const StepCost& cost : costs) seconds += cost.predicted_seconds;
  return seconds;
}

TEST(PassTime, StepsAddUpWhereNothingGoesOnBesideThem) {
  const Program program = plan_program(small_model(1));
  const std::vector<StepCost> costs = price(program, find_hardware("a100-80gb"), 0);
  EXPECT_DOUBLE_EQ(predicted_pass_seconds(program, {costs}), sum_of(costs));
}

// Of a sum beside the steps counts what they wait for it: that of an input gradient costs nothing where the
// weight's gradient takes longer.
TEST(PassTime, ASumBesideTheStepsCostsWhatIsWaitedForIt) {
  const Program program = plan_program(testing::small_layer(2));
  std::vector<StepCost> costs(program.steps.size(), {.predicted_seconds = 1});
  double in_turn = sum_of(costs);
  int sums = 0;
  for (const Step& step : program.steps) sums += step.overlapped;
  ASSERT_EQ(sums, 2);
  EXPECT_DOUBLE_EQ(predicted_pass_seconds(program, {costs, costs}), in_turn - sums);
  for (const Step& step : program.steps)
    if (step.overlapped) costs[static_cast<size_t>(step.id)].predicted_seconds = 100;
  in_turn = sum_of(costs);
  const double hidden = in_turn - predicted_pass_seconds(program, {costs, costs});
  EXPECT_GE(hidden, sums) << "at least the weight's gradient";
  EXPECT_LT(hidden, 10);
}

TEST(PassTime, CostsInTurnAddUpToThePass) {
  for (const int dp : {1, 2}) {
    for (const int chunks : {1, 3}) {
      Settings settings = small_model(2, dp);
      settings.overlap_chunks = chunks;
      const Program program = plan_program(settings);
      const std::vector<StepCost> costs = price(program, find_hardware("v100-32gb"), 0);
      const double pass = predicted_pass_seconds(program, {costs});
      EXPECT_TRUE(dp > 1 ? pass <= sum_of(costs) : pass < sum_of(costs));
      EXPECT_NEAR(sum_of(costs_in_turn(program, costs)), pass, 1e-12 * pass) << dp << " " << chunks;
    }
  }
}

TEST(PassTime, TheRatioIsOfWhatIsComputedAndWhatIsSent) {
  const Program program = plan_program(small_model(2));
  std::vector<StepCost> costs(program.steps.size(), {.predicted_seconds = 2});
  int sends = 0, sends_forward = 0, forward = 0;
  for (const Step& step : program.steps) {
    sends += is_collective(step.op);
    forward += step.phase == Phase::Forward;
    sends_forward += is_collective(step.op) && step.phase == Phase::Forward;
  }
  ASSERT_GT(sends_forward, 0);
  const ComputeRatio all = compute_ratio(program, costs);
  EXPECT_EQ(all.communicate_seconds, 2 * sends);
  EXPECT_EQ(all.ratio(), static_cast<double>(std::ssize(program.steps) - sends) / sends);
  const ComputeRatio only_forward = compute_ratio(program, costs, Phase::Forward);
  EXPECT_EQ(only_forward.communicate_seconds, 2 * sends_forward);
  EXPECT_EQ(only_forward.compute_seconds, 2 * (forward - sends_forward));
  EXPECT_FALSE(compute_ratio(plan_program(small_model(1)), costs).is_known()) << "one rank sends nothing";
}

}  // namespace pass_time_test
}  // namespace shardlens
