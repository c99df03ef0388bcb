// Axes have round numbers.
#include "engine/io/chart.h"

#include <gtest/gtest.h>

namespace shardlens {
namespace chart_test {

TEST(RoundSteps, AreOneTwoAndFiveOfEveryDecadeAndReachBeyondBothEnds) {
  EXPECT_EQ(round_steps(3, 40), (std::vector<double>{2, 5, 10, 20, 50}));
  EXPECT_EQ(round_steps(1, 20), (std::vector<double>{1, 2, 5, 10, 20}));
  const std::vector<double> small = round_steps(0.0015, 0.04);
  ASSERT_EQ(small.size(), 6u);
  EXPECT_DOUBLE_EQ(small[0], 0.001);
  EXPECT_DOUBLE_EQ(small[5], 0.05);
}

TEST(RoundSteps, AreEveryDigitWithinADecade) {
  EXPECT_EQ(round_steps(2.5, 5), (std::vector<double>{2, 3, 4, 5}));
  EXPECT_EQ(round_steps(8, 11), (std::vector<double>{8, 9, 10, 20}));
}

}  // namespace chart_test
}  // namespace shardlens
