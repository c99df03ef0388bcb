// A delay finds its step by name or number; if there is no such step, the error says what would work.
#include "engine/planner/delays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace delays_test {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<PlannedDelay> holds_of(Settings settings, std::vector<Delay> delays) {
  settings.delays = std::move(delays);
  return plan_delays(plan_program(settings));
}

std::string refusal(const Delay& delay, const Settings& settings = testing::small_layer(2)) {
  try {
    holds_of(settings, {delay});
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
}

TEST(Holds, StepsAreNamedOrNumbered) {
  const Program program = plan_program(testing::small_layer(2));
  const auto holds = holds_of(testing::small_layer(2), {{1, "attn.proj", 20}, {0, "3", 0.5}});
  ASSERT_EQ(holds.size(), 2u);
  EXPECT_EQ(program.step(holds[0].step).name, "attn.proj");
  EXPECT_EQ(holds[0].seconds, 0.02);
  EXPECT_EQ(holds[1], (PlannedDelay{0, 3, 0.0005}));
}

TEST(Holds, OfEqualNamesTheFirstIsMeantAndTheOthersHaveTheirNumbers) {
  Settings settings = testing::small_model(2);
  settings.recompute = Recompute::Full;
  const Program program = plan_program(settings);
  const StepId first = holds_of(settings, {{0, "h.0.attn.proj", 1}})[0].step;
  EXPECT_EQ(program.step(first).phase, Phase::Forward);
  EXPECT_EQ(delay_word(program, first), "h.0.attn.proj");
  for (const Step& step : program.steps)
    EXPECT_EQ(holds_of(settings, {{0, delay_word(program, step.id), 1}})[0].step, step.id) << step.name;
}

TEST(Holds, RanksAreThoseOfAllReplicas) {
  EXPECT_EQ(holds_of(testing::small_model(2, 2), {{3, "wte", 1}})[0].rank, 3);
  EXPECT_THAT(refusal({4, "wte", 1}, testing::small_model(2, 2)),
              HasSubstr("T x D = 2 x 2: choose from 0 to 3"));
  EXPECT_THAT(refusal({-1, "attn.proj", 1}), HasSubstr("choose from 0 to 1"));
  EXPECT_THAT(refusal({1, "attn.proj", 1}, testing::small_layer(1)), HasSubstr("The only rank is 0"));
}

TEST(Holds, ARefusalSaysWhatThereIs) {
  EXPECT_THAT(refusal({0, "attn.prj", 1}), HasSubstr("did you mean \"attn.proj\" (step 4)"));
  EXPECT_THAT(refusal({0, "nostep", 1}), Not(HasSubstr("did you mean"))) << "nothing is near";
  EXPECT_THAT(refusal({0, "", 1}), HasSubstr("names step \"\""));
  EXPECT_THAT(refusal({0, "38", 1}), HasSubstr("Choose from 0 to 37"));
  EXPECT_THAT(refusal({0, "-1", 1}), HasSubstr("Choose from 0 to 37"));
  EXPECT_THAT(refusal({0, "99999999999999999999", 1}), HasSubstr("Choose from 0 to 37"));
  for (const double bad : {-1.0, 60'001.0, std::nan(""), HUGE_VAL})
    EXPECT_THAT(refusal({0, "attn.proj", bad}), HasSubstr("from 0 to 60,000 ms"));
}

}  // namespace delays_test
}  // namespace shardlens
