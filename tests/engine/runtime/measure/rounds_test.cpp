// A difference between two measured runs counts only if it is there in every round.
#include "engine/runtime/measure/rounds.h"

#include <gtest/gtest.h>

namespace shardlens {
namespace rounds_test {

TEST(Rounds, HaveALeastAMiddleAndAGreatestTime) {
  EXPECT_EQ(spread_of({3, 1, 2}), (RoundSpread{1, 2, 3}));
  EXPECT_EQ(spread_of({4, 1, 2, 3}), (RoundSpread{1, 2.5, 4}));
  EXPECT_EQ(spread_of({}), RoundSpread());
}

TEST(Rounds, ADifferenceInEveryRoundIsOne) {
  // The machine becomes slower from round to round, and both feel it.
  const std::vector<double> a{1.0, 1.5, 2.0, 2.5, 3.0}, b{1.1, 1.6, 2.1, 2.6, 3.1};
  const RoundsCompared compared = compare_rounds(a, b);
  EXPECT_FALSE(compared.within_noise());
  EXPECT_EQ(compared.a_faster, 5);
  EXPECT_EQ(rounds_words("megatron", "reversed", compared),
            "megatron takes 5 % less time than reversed, in each of 5 rounds");
  EXPECT_EQ(rounds_words("reversed", "megatron", compare_rounds(b, a)),
            "reversed takes 5 % more time than megatron, in each of 5 rounds");
}

TEST(Rounds, OneRoundTheOtherWayIsNoise) {
  const std::vector<double> a{1.0, 1.0, 1.0, 1.0, 3.0}, b{1.2, 1.2, 1.2, 1.2, 1.2};
  const RoundsCompared compared = compare_rounds(a, b);
  EXPECT_TRUE(compared.within_noise()) << "although the medians differ by a sixth";
  EXPECT_EQ(rounds_words("megatron", "reversed", compared),
            "megatron and reversed: within the noise (megatron was faster in 4 of 5 rounds)");
}

TEST(Rounds, TwoRoundsProveNothing) {
  const std::vector<double> a{1, 1}, b{2, 2};
  EXPECT_TRUE(compare_rounds(a, b).within_noise());
  EXPECT_EQ(rounds_words("a", "b", compare_rounds({}, b)), "");
}

}  // namespace rounds_test
}  // namespace shardlens
