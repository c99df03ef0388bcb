// Compares warm-up and decay with the formulas, at points that are easy to compute by hand.
#include "engine/train/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace schedule_test {

using ::testing::HasSubstr;

TEST(Schedule, ClimbsLinearlyThenFollowsTheCosine) {
  const Schedule s{1.0, 0.1, 10, 110, Decay::Cosine};
  EXPECT_DOUBLE_EQ(s.rate(1), 0.1);
  EXPECT_DOUBLE_EQ(s.rate(5), 0.5);
  EXPECT_DOUBLE_EQ(s.rate(10), 1.0);
  EXPECT_DOUBLE_EQ(s.rate(60), 0.55);                         // half way
  EXPECT_NEAR(s.rate(35), 0.1 + 0.9 * 0.85355339059, 1e-10);  // a quarter: (1 + cos 45°) / 2
  EXPECT_DOUBLE_EQ(s.rate(110), 0.1);
  EXPECT_DOUBLE_EQ(s.rate(1000), 0.1);  // and stays there
}

TEST(Schedule, LinearAndConstantDecay) {
  const Schedule linear{2.0, 0.0, 0, 100, Decay::Linear};
  EXPECT_DOUBLE_EQ(linear.rate(25), 1.5);
  EXPECT_DOUBLE_EQ(linear.rate(100), 0.0);
  const Schedule constant{2.0, 0.0, 4, 100, Decay::Constant};
  EXPECT_DOUBLE_EQ(constant.rate(2), 1.0);
  EXPECT_DOUBLE_EQ(constant.rate(5000), 2.0);
}

TEST(Schedule, AWarmUpAsLongAsTheRunNeverDecays) {
  const Schedule s{1.0, 0.0, 100, 100, Decay::Cosine};
  EXPECT_DOUBLE_EQ(s.rate(100), 1.0);
}

TEST(Schedule, KnowsFromWhichStepOnNothingIsLearned) {
  const Schedule schedules[] = {{1, 0, 0, 10, Decay::Cosine},   {1, 0, 4, 10, Decay::Linear},
                                {1, 0, 12, 10, Decay::Linear},  {1, 0.1, 0, 10, Decay::Cosine},
                                {1, 0, 2, 10, Decay::Constant}, {0, 0, 2, 10, Decay::Constant},
                                {1, 0, 0, 1, Decay::Cosine}};
  for (const Schedule& s : schedules) {
    std::optional<int64_t> end;
    for (int64_t step = 30; step >= 1 && s.rate(step) == 0; --step) end = step;
    EXPECT_EQ(s.end_of_learning(), end) << to_string(s.decay) << " " << s.warmup << " " << s.steps;
  }
}

// The factors of transformers' get_constant_, get_linear_ and get_cosine_schedule_with_warmup(warm-up 3, 9
// steps) at 1 to 9, in six digits. At 10 their cosine would rise again.
TEST(Schedule, StepSHasTransformersFactorAtS) {
  const std::pair<Decay, std::vector<double>> known[] = {
      {Decay::Constant, {0.333333, 0.666667, 1, 1, 1, 1, 1, 1, 1, 1}},
      {Decay::Linear, {0.333333, 0.666667, 1, 0.833333, 0.666667, 0.5, 0.333333, 0.166667, 0, 0}},
      {Decay::Cosine, {0.333333, 0.666667, 1, 0.933013, 0.75, 0.5, 0.25, 0.0669873, 0, 0}}};
  for (const auto& [decay, factors] : known) {
    const Schedule s{1, 0, 3, 9, decay};
    for (size_t i = 0; i < factors.size(); ++i)
      EXPECT_NEAR(s.rate(static_cast<int64_t>(i) + 1), factors[i], 1e-6) << to_string(decay) << " " << i + 1;
  }
}

TEST(Schedule, ImpossibleNumbersAreRefused) {
  EXPECT_THAT(error_of([] { validate(Schedule{-1, 0, 0, 10, Decay::Cosine}); }), HasSubstr("3e-4"));
  EXPECT_THAT(error_of([] { validate(Schedule{1, 2, 0, 10, Decay::Cosine}); }), HasSubstr("lowest"));
  EXPECT_THAT(error_of([] { validate(Schedule{1, 0, -1, 10, Decay::Cosine}); }), HasSubstr("warm-up"));
  EXPECT_THAT(error_of([] { validate(Schedule{1, 0, 0, 0, Decay::Cosine}); }), HasSubstr("1 or more"));
  EXPECT_THAT(error_of([] { parse_decay("cosin"); }), HasSubstr("cosine"));
}

}  // namespace schedule_test
}  // namespace shardlens
