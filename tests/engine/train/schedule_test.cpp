// Compares warm-up and decay with the formulas, at points that are easy to compute by hand.
#include "engine/train/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Schedule, ImpossibleNumbersAreRefused) {
  EXPECT_THAT(error_of([] { validate(Schedule{-1, 0, 0, 10, Decay::Cosine}); }), HasSubstr("3e-4"));
  EXPECT_THAT(error_of([] { validate(Schedule{1, 2, 0, 10, Decay::Cosine}); }), HasSubstr("lowest"));
  EXPECT_THAT(error_of([] { validate(Schedule{1, 0, -1, 10, Decay::Cosine}); }), HasSubstr("warm-up"));
  EXPECT_THAT(error_of([] { validate(Schedule{1, 0, 0, 0, Decay::Cosine}); }), HasSubstr("1 or more"));
  EXPECT_THAT(error_of([] { parse_decay("cosin"); }), HasSubstr("cosine"));
}

}  // namespace schedule_test
}  // namespace shardlens
