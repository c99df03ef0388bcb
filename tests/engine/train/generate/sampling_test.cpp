// From which tokens the sampler draws, what it draws, and that the same call draws the same.
#include "engine/train/generate/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace sampling_test {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Probabilities 0.1, 0.4, 0.2, 0.3.
const std::vector<double> kLogits{std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.3)};

TEST(Sampling, GreedyTakesTheLikeliestAndOfEqualOnesTheFirst) {
  Sampling greedy;
  greedy.temperature = 0;
  EXPECT_EQ(choose_token(kLogits, greedy, 0), 1);
  EXPECT_EQ(choose_token({1, 3, 3}, greedy, 5), 1);
}

// It is looked for in blocks, several logits at a time.
TEST(Sampling, GreedyFindsTheFirstOfTheLargestWhereverItLies) {
  Sampling greedy;
  greedy.temperature = 0;
  for (const size_t at : {0, 7, 511, 512, 1029, 1542}) {
    std::vector<double> logits(1543, -3.0);
    logits[at] = -1;
    EXPECT_EQ(choose_token(logits, greedy, 0), static_cast<int32_t>(at));
    logits.back() = -1;
    EXPECT_EQ(choose_token(logits, greedy, 0), static_cast<int32_t>(at));
    logits[40] = std::nan("");
    EXPECT_EQ(choose_token(logits, greedy, 0), static_cast<int32_t>(at));
  }
  EXPECT_EQ(choose_token({std::nan(""), std::nan("")}, greedy, 0), 0);
}

TEST(Sampling, TopKAndTopPKeepTheLikeliest) {
  const auto near = [](double p) { return DoubleNear(p, 1e-12); };
  Sampling s;
  EXPECT_THAT(token_probabilities(kLogits, s), ElementsAre(near(0.1), near(0.4), near(0.2), near(0.3)));
  s.top_k = 2;
  EXPECT_THAT(token_probabilities(kLogits, s), ElementsAre(0, near(4.0 / 7), 0, near(3.0 / 7)));
  s.top_k = 0;
  s.top_p = 0.75;  // 0.4 + 0.3 is not enough, so 0.2 comes along
  EXPECT_THAT(token_probabilities(kLogits, s), ElementsAre(0, near(4.0 / 9), near(2.0 / 9), near(3.0 / 9)));
  s.top_p = 1e-9;
  EXPECT_THAT(token_probabilities(kLogits, s), ElementsAre(0, 1, 0, 0));
}

TEST(Sampling, TemperatureSharpensAndFlattens) {
  Sampling s;
  s.temperature = 0.5;  // squares: 1, 16, 4, 9 of 30
  EXPECT_NEAR(token_probabilities(kLogits, s)[1], 16.0 / 30, 1e-12);
  s.temperature = 1e6;
  EXPECT_NEAR(token_probabilities(kLogits, s)[0], 0.25, 1e-5);
}

TEST(Sampling, DrawsFollowTheDistributionAndRepeat) {
  Sampling s;
  std::map<int32_t, int> counts;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) ++counts[choose_token(kLogits, s, i)];
  const double expected[] = {0.1, 0.4, 0.2, 0.3};
  for (int32_t id = 0; id < 4; ++id) EXPECT_NEAR(counts[id] / double{kDraws}, expected[id], 0.015) << id;
  EXPECT_EQ(choose_token(kLogits, s, 7), choose_token(kLogits, s, 7));
}

TEST(Sampling, WhatLeavesNothingIsRefused) {
  Sampling s;
  s.temperature = -1;
  EXPECT_THAT(error_of([&] { validate(s); }), HasSubstr("greedy"));
  s = {};
  s.top_k = -1;
  EXPECT_THAT(error_of([&] { validate(s); }), HasSubstr("top-k"));
  s = {};
  s.top_p = 0;
  EXPECT_THAT(error_of([&] { validate(s); }), HasSubstr("top-p"));
}

}  // namespace sampling_test
}  // namespace shardlens
