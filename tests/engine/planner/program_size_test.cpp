// The number of steps is known before they are planned, too many are refused with what would work, and
// nothing in a Program grows with the square of its parts.
#include "engine/planner/program_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/planner/memory_plan.h"
#include "engine/planner/planner.h"
#include "engine/program/check_program.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace program_size_test {

using ::testing::HasSubstr;

Settings in_parts(Settings settings, int parts) {
  settings.micro_batches = parts;
  settings.batch = int64_t{parts} * settings.dp;
  return settings;
}

std::string refusal(const Settings& settings, const PlanProgram& plan) {
  try {
    plan(settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
  return "";
}

TEST(ProgramSize, IsKnownBeforeTheProgramIsPlanned) {
  for (const char* split : {"megatron", "megatron-sp", "reversed", "replicated"})
    for (Settings settings : {testing::small_model(2, 2, split), testing::small_bert(1, 1, split)})
      for (const Recompute recompute : {Recompute::None, Recompute::Full})
        for (const int chunks : {1, 3}) {
          settings = in_parts(settings, 7);
          settings.model.layers = 5;
          settings.recompute = recompute;
          settings.overlap_chunks = chunks;
          const PlanProgram plan = [](const Settings& s) { return plan_program(s); };
          EXPECT_EQ(expected_steps(settings, plan), static_cast<int64_t>(plan(settings).steps.size()))
              << split;
          const PlanProgram evaluation = [](const Settings& s) { return plan_evaluation(s); };
          EXPECT_EQ(expected_steps(settings, evaluation),
                    static_cast<int64_t>(evaluation(settings).steps.size()))
              << split;
        }
}

// The refusal comes before the Program: this one would take gigabytes and minutes.
TEST(ProgramSize, TooManyStepsAreRefusedWithWhatWorks) {
  const PlanProgram all[] = {[](const Settings& s) { return plan_program(s); },
                             [](const Settings& s) { return plan_evaluation(s); },
                             [](const Settings& s) { return plan_serial(s); }};
  for (const PlanProgram& plan : all) {
    Settings settings = in_parts(testing::small_model(2), 1'000'000);
    const std::string said = refusal(settings, plan);
    EXPECT_THAT(said, HasSubstr("at most 500,000 are planned"));
    const size_t proposed = said.find("Try ");
    ASSERT_NE(proposed, std::string::npos) << said;
    std::string digits;
    for (size_t at = proposed + 4; said[at] != ' '; ++at)
      if (said[at] != ',') digits += said[at];
    settings.micro_batches = std::stoi(digits);
    EXPECT_GT(settings.micro_batches, 1000);
    EXPECT_EQ(settings.batch % settings.micro_batches, 0);
    EXPECT_LE(expected_steps(settings, plan), kMostSteps);
  }
}

TEST(ProgramSize, ManyRanksCanHoldFewerSteps) {
  Settings settings = in_parts(testing::small_model(40), 100'000);
  EXPECT_EQ(settings.tp, 40);
  EXPECT_THAT(refusal(settings, [](const Settings& s) { return plan_program(s); }),
              HasSubstr("on T = 40 at most 500,000"));
  settings = in_parts(testing::small_model(1), 100'000);
  settings.model.heads = settings.model.hidden = 4096;
  settings.tp = 4096;
  EXPECT_THAT(refusal(settings, [](const Settings& s) { return plan_program(s); }),
              HasSubstr("on T = 4096 at most 4,882"));
}

// A gradient to which every part adds has its bytes in the first part's: who asks where a tensor is must not
// walk through all parts.
TEST(ProgramSize, NoTensorIsFarFromItsStorage) {
  const Program program = plan_program(in_parts(testing::small_model(2, 2), 20));
  for (const Tensor& tensor : program.tensors) {
    int hops = 0;
    for (TensorId at = tensor.id; program.tensor(at).storage != kNoTensor; at = program.tensor(at).storage)
      ++hops;
    EXPECT_LE(hops, 3) << tensor.name;
  }
}

}  // namespace program_size_test
}  // namespace shardlens
