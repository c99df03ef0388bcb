// An axis under zoom and pan, and its ticks.
#include "ui/widgets/stretch.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shardlens::ui {
namespace stretch_test {

constexpr Stretch kAll{0, 10};

TEST(Stretch, EmptyMeansAll) {
  EXPECT_EQ(clamped({0, 0}, kAll), kAll);
}

TEST(Stretch, ClampingKeepsTheLength) {
  EXPECT_EQ(clamped({-1, 3}, kAll), (Stretch{0, 4}));
  EXPECT_EQ(clamped({8, 12}, kAll), (Stretch{6, 10}));
  EXPECT_EQ(clamped({-5, 20}, kAll), kAll);
}

TEST(Stretch, ZoomKeepsThePointUnderTheMouse) {
  const Stretch before{2, 6};
  const double at = 3;
  const Stretch after = zoomed(before, 0.5, at, kAll, 0.01);
  EXPECT_DOUBLE_EQ(after.size(), 2);
  EXPECT_DOUBLE_EQ((at - after.begin) / after.size(), (at - before.begin) / before.size());
}

TEST(Stretch, ZoomStopsAtTheSmallestAndAtAll) {
  EXPECT_DOUBLE_EQ(zoomed({2, 6}, 1e-9, 3, kAll, 0.25).size(), 0.25);
  EXPECT_EQ(zoomed({2, 6}, 100, 3, kAll, 0.25), kAll);
}

TEST(Stretch, PanMovesByItsOwnLengthAndStopsAtTheEnds) {
  EXPECT_EQ(panned({2, 6}, 0.25, kAll), (Stretch{3, 7}));
  EXPECT_EQ(panned({2, 6}, -1, kAll), (Stretch{0, 4}));
  EXPECT_EQ(panned({2, 6}, 3, kAll), (Stretch{6, 10}));
}

TEST(Ticks, AreRoundAndInside) {
  const std::vector<double> ticks = round_ticks({0, 28.9e-3}, 8);
  ASSERT_EQ(ticks.size(), 6u);
  EXPECT_NEAR(ticks[1], 5e-3, 1e-12);
  EXPECT_NEAR(ticks[5], 25e-3, 1e-12);
}

TEST(Ticks, AreNeverTooManyNorFarTooFew) {
  for (int most = 3; most <= 12; ++most) {
    for (double size = 1e-7; size < 1e4; size *= 1.37) {
      const Stretch shown{size * 0.377, size * 1.377};
      const size_t count = round_ticks(shown, most).size();
      EXPECT_LE(count, static_cast<size_t>(most)) << size;
      EXPECT_GT(3 * count, static_cast<size_t>(most) - 2) << size << " of " << most;
      for (const double tick : round_ticks(shown, most)) {
        EXPECT_GE(tick, shown.begin * (1 - 1e-5));
        EXPECT_LE(tick, shown.end * (1 + 1e-5));
      }
    }
  }
}

TEST(Ticks, ThatBoundAnAxisHoldAllOfItAndStayFew) {
  EXPECT_EQ(bounding_ticks({0, 8}, 8).size(), 9u) << "0 to 8: none beyond what is a tick already";
  for (double size = 1e-7; size < 1e4; size *= 1.37) {
    const Stretch shown{size * 0.377, size * 1.377};
    const std::vector<double> ticks = bounding_ticks(shown, 8);
    EXPECT_LE(ticks.size(), 10u) << size;
    EXPECT_LE(ticks.front(), shown.begin * (1 + 1e-5));
    EXPECT_GE(ticks.back(), shown.end * (1 - 1e-5));
  }
}

TEST(Ticks, OfNothingAreNone) {
  EXPECT_TRUE(bounding_ticks({1, 1}, 5).empty());
  EXPECT_TRUE(round_ticks({1, 1}, 5).empty());
  EXPECT_TRUE(round_ticks({0, 1}, 0).empty());
}

}  // namespace stretch_test
}  // namespace shardlens::ui
