// Sentences for the parts that only a whole model has: sums over replicas, and a maximum over the ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace explain_test {

using ::testing::HasSubstr;
using ::testing::Not;

Program tiny_program(int tp, int dp) {
  Settings settings;
  settings.model = model_preset("gpt2-tiny");
  settings.model.layers = 1;
  settings.block = Block::Model;
  settings.tp = tp;
  settings.dp = dp;
  settings.batch = 6;
  settings.seq = 8;
  return plan_program(settings);
}

TEST(Explain, GradientsAreSummedOverTheReplicasAndNotOverTheRanks) {
  const Program program = tiny_program(2, 3);
  int buckets = 0, losses = 0;
  for (const Step& step : program.steps) {
    if (step.axis != Axis::Dp) continue;
    const std::string why = explain(program, step.id);
    EXPECT_THAT(why, HasSubstr("Each of the 3 replicas"));
    EXPECT_THAT(why, HasSubstr("own rows of the batch"));
    const bool gradients = program.tensor(step.inputs[0]).kind == MemoryKind::WeightGradient;
    gradients ? ++buckets : ++losses;
    EXPECT_THAT(why, gradients ? HasSubstr("gradient") : HasSubstr("the loss (L)"));
  }
  EXPECT_GT(buckets, 0);
  EXPECT_EQ(losses, 1);
}

TEST(Explain, TheLargestLogitIsNotASum) {
  const Program program = tiny_program(2, 1);
  int maxima = 0;
  for (const Step& step : program.steps) {
    if (step.op != Op::AllReduce || program.tensor(step.inputs[0]).layout != kPartialMax) continue;
    ++maxima;
    const std::string why = explain(program, step.id);
    EXPECT_THAT(why, HasSubstr("the maximum over its own columns on each rank"));
    EXPECT_THAT(why, Not(HasSubstr("sum")));
  }
  EXPECT_EQ(maxima, 1);
}

}  // namespace explain_test
}  // namespace shardlens
