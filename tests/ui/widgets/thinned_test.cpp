// Thinning keeps the mean and the ends of a history, however long it is.
#include "ui/widgets/thinned.h"

#include <gtest/gtest.h>

#include <numeric>

namespace shardlens::ui {
namespace {

TEST(Thinned, AShortHistoryIsItself) {
  const Points points = thinned(3, 10, [](size_t i) { return static_cast<double>(i * i); });
  EXPECT_EQ(points.x, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(points.y, (std::vector<double>{0, 1, 4}));
}

TEST(Thinned, ALongHistoryBecomesMeansOfStretches) {
  const Points points = thinned(1000, 100, [](size_t i) { return static_cast<double>(i); });
  ASSERT_EQ(points.size(), 100u);
  EXPECT_DOUBLE_EQ(points.y.front(), 4.5);
  EXPECT_DOUBLE_EQ(points.x.front(), 5.5);
  EXPECT_DOUBLE_EQ(std::accumulate(points.y.begin(), points.y.end(), 0.0) / 100, 499.5);
}

TEST(Thinned, NeverMoreThanAsked) {
  for (const size_t count : {1u, 99u, 100u, 101u, 199u, 12345u}) {
    const Points points = thinned(count, 100, [](size_t) { return 1.0; });
    EXPECT_LE(points.size(), 100u) << count;
    EXPECT_LE(points.x.back(), static_cast<double>(count)) << count;
  }
  EXPECT_EQ(thinned(0, 100, [](size_t) { return 1.0; }).size(), 0u);
}

TEST(Smoothed, LeavesAConstantAloneAndFollowsAStep) {
  const Points flat = smoothed({{1, 2, 3}, {5, 5, 5}}, 4);
  for (const double y : flat.y) EXPECT_DOUBLE_EQ(y, 5);
  const Points step = smoothed(thinned(100, 100, [](size_t i) { return i < 50 ? 0.0 : 1.0; }), 5);
  EXPECT_DOUBLE_EQ(step.y[49], 0);
  EXPECT_GT(step.y.back(), 0.99);
  EXPECT_LT(step.y[51], 0.5) << "it is a mean, not the newest value";
}

}  // namespace
}  // namespace shardlens::ui
