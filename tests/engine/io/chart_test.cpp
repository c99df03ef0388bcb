// Round numbers along an axis.
#include "engine/io/chart.h"

#include <gtest/gtest.h>

namespace shardlens {
namespace {

TEST(RoundSteps, AreOneTwoAndFiveOfEveryDecadeAndReachBeyondBothEnds) {
  EXPECT_EQ(round_steps(3, 40), (std::vector<double>{2, 5, 10, 20, 50}));
  EXPECT_EQ(round_steps(1, 2), (std::vector<double>{1, 2}));
  const std::vector<double> small = round_steps(0.0015, 0.003);
  ASSERT_EQ(small.size(), 3u);
  EXPECT_DOUBLE_EQ(small[0], 0.001);
  EXPECT_DOUBLE_EQ(small[2], 0.005);
}

}  // namespace
}  // namespace shardlens
