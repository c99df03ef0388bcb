// Sentences for the parts that only a whole model has: sums over replicas, and a maximum over the ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/planner/planner.h"
#include "engine/program/fault.h"

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

// "H = H' + b" is only the first reader of the sum. The reason is the operation behind it.
TEST(Explain, TheNextOperationThatIsNotLinearIsNamed) {
  const auto reason = [](const char* split, const char* sum) {
    Settings settings;
    settings.model = model_preset("gpt2");
    settings.split = named_split(split);
    settings.tp = 4;
    settings.batch = 1;
    settings.seq = 8;
    settings.fusion = Fusion::Off;
    const Program program = plan_program(settings);
    for (const Step& step : program.steps)
      if (step.op == Op::AllReduce && program.tensor(step.outputs[0]).name == sum)
        return explain(program, step.id);
    return std::string();
  };
  const std::string reversed = reason("reversed", "mlp.fc.sum");
  EXPECT_THAT(reversed, HasSubstr("H = H' + b needs the full tensor"));
  EXPECT_THAT(reversed, HasSubstr("The next operation that is not linear is GeLU"));
  EXPECT_THAT(reversed, HasSubstr("the GeLU of a sum is not the sum of the GeLUs"));
  EXPECT_THAT(reason("megatron", "attn.proj.sum"),
              HasSubstr("The next operation that is not linear is LayerNorm"));
  EXPECT_THAT(reason("megatron", "mlp.proj.sum"), Not(HasSubstr("not linear"))) << "the layer ends there";
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

Program layer_of(const char* split, int tp) {
  Settings settings;
  settings.split = named_split(split);
  settings.tp = tp;
  settings.batch = 1;
  settings.seq = 16;
  return plan_program(settings);
}

TensorId output_of_step(const Program& program, const std::string& name) {
  for (const Step& step : program.steps)
    if (step.name == name) return step.outputs[0];
  throw std::logic_error("no step " + name);
}

TEST(Explain, BetweenTheTwoMatricesOfTheMlpTheLayoutsAgree) {
  const Program program = layer_of("megatron", 4);
  const std::string before_gelu = explain_no_collective(program, output_of_step(program, "mlp.fc"));
  EXPECT_THAT(before_gelu, HasSubstr("(column-parallel) produces only a slice on each rank (Sharded(1))"));
  EXPECT_THAT(before_gelu, HasSubstr("GeLU"));
  EXPECT_THAT(before_gelu, HasSubstr("needs only its own slice. The layouts agree, so nothing is sent."));
  const std::string after_gelu = explain_no_collective(program, output_of_step(program, "mlp.gelu"));
  EXPECT_THAT(after_gelu, HasSubstr("(row-parallel) needs only its own slice"));
}

TEST(Explain, WhereRanksMeetThereIsNoReasonWhyNot) {
  const Program program = layer_of("megatron", 4);
  EXPECT_EQ(explain_no_collective(program, output_of_step(program, "mlp.proj")), "")
      << "the all-reduce reads it";
  for (const Step& step : program.steps) {
    if (!is_conversion(step.op)) continue;
    EXPECT_EQ(explain_no_collective(program, step.outputs[0]), "") << step.name;
    EXPECT_EQ(explain_no_collective(program, step.inputs[0]), "") << step.name;
  }
  // The other order of the cuts needs an all-reduce right there.
  const Program reversed = layer_of("reversed", 4);
  EXPECT_EQ(explain_no_collective(reversed, output_of_step(reversed, "mlp.fc")), "");
  const Program serial = layer_of("megatron", 1);
  EXPECT_EQ(explain_no_collective(serial, output_of_step(serial, "mlp.fc")), "") << "one rank meets nobody";
}

TEST(Explain, AMistakePassesATermOn) {
  const Program broken = plant(layer_of("megatron", 4), Fault::SkipF);
  int passed_on = 0;
  for (const Step& step : broken.steps) {
    if (step.op != Op::Identity || broken.tensor(step.inputs[0]).layout.kind != LayoutKind::Partial) continue;
    ++passed_on;
    EXPECT_THAT(explain(broken, step.id), HasSubstr("one term of a sum on each rank (Partial)"));
    EXPECT_THAT(explain(broken, step.id), HasSubstr("no collective sums the terms here"));
    EXPECT_THAT(explain(broken, step.id), Not(HasSubstr("already has this layout")));
  }
  EXPECT_GT(passed_on, 0);
}

}  // namespace explain_test
}  // namespace shardlens
