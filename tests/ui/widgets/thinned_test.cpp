// Thinning keeps the mean and the ends of a history, or its peaks, however long it is.
#include "ui/widgets/thinned.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <numeric>

namespace shardlens::ui {
namespace thinned_test {

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

TEST(Peaks, OneStaysSeenHoweverLongTheHistoryGrows) {
  for (const size_t count : {50u, 100u, 101u, 1000u, 12345u}) {
    const Points points = peaks(count, 100, [](size_t i) { return i == 20 ? 14.0 : 2.0; });
    EXPECT_EQ(*std::max_element(points.y.begin(), points.y.end()), 14) << count;
    EXPECT_EQ(points.x, thinned(count, 100, [](size_t) { return 1.0; }).x) << count;
  }
}

TEST(Smoothed, LeavesAConstantAloneAndFollowsAStep) {
  const Points flat = smoothed({{1, 2, 3}, {5, 5, 5}}, 4);
  for (const double y : flat.y) EXPECT_DOUBLE_EQ(y, 5);
  const Points step = smoothed(thinned(100, 100, [](size_t i) { return i < 50 ? 0.0 : 1.0; }), 5);
  EXPECT_DOUBLE_EQ(step.y[49], 0);
  EXPECT_DOUBLE_EQ(step.y.back(), 1);
  EXPECT_DOUBLE_EQ(step.y[51], 0.4) << "it is the mean of the last five, not the newest value";
}

TEST(Thinned, WhatOverflowedCountsInNoMean) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values{2, infinity, 4, infinity, infinity, std::nan("")};
  const Points points = thinned(values.size(), 3, [&](size_t i) { return values[i]; });
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points.y[0], 2);
  EXPECT_EQ(points.y[1], 4);
  EXPECT_TRUE(std::isnan(points.y[2]));
  const Points highest = peaks(values.size(), 3, [&](size_t i) { return values[i]; });
  EXPECT_EQ(highest.y[0], 2);
  EXPECT_TRUE(std::isnan(highest.y[2]));
  const Points line = smoothed(points, 1);
  EXPECT_EQ(line.y[1], 4);
  EXPECT_TRUE(std::isfinite(line.y[2])) << "the line that is read goes on";
}

}  // namespace thinned_test
}  // namespace shardlens::ui
