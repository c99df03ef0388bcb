// The budget of pictures, tested by counting what is spent, without a clock.
#include "engine/record/picture_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace shardlens {
namespace picture_budget_test {

constexpr int kTensors = 10;

// `passes` passes of 100 s each; what pictures took in each, and how often each tensor was taken.
struct Spent {
  std::vector<double> seconds;
  std::vector<int> taken = std::vector<int>(kTensors, 0);
  double after_first() const { return std::accumulate(seconds.begin() + 1, seconds.end(), 0.0); }
};

Spent spend(double share, const std::vector<double>& prices, int passes) {
  std::vector<int> order(kTensors);
  std::iota(order.begin(), order.end(), 0);
  PictureBudget budget(share, order, kTensors);
  Spent spent;
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<double> seconds(kTensors, 0);
    for (size_t id = 0; id < kTensors; ++id)
      if (budget.wanted()[id]) {
        seconds[id] = prices[id];
        ++spent.taken[id];
      }
    spent.seconds.push_back(std::accumulate(seconds.begin(), seconds.end(), 0.0));
    budget.pass_done(100, seconds);
  }
  return spent;
}

TEST(PictureBudget, TheFirstPassIsWholeAndPaidBack) {
  const std::vector<double> prices(kTensors, 1.0);
  const Spent spent = spend(0.01, prices, 200);  // each pass earns 1 s
  EXPECT_EQ(spent.seconds[0], 10);
  for (int pass = 1; pass <= 9; ++pass) EXPECT_EQ(spent.seconds[static_cast<size_t>(pass)], 0) << pass;
  double earned = 0, all = 0;
  for (size_t pass = 0; pass < spent.seconds.size(); ++pass) {
    all += spent.seconds[pass];
    EXPECT_LE(all, std::max(10.0, earned + 1e-9)) << pass;
    earned += 1;
  }
  EXPECT_GE(all, 0.99 * 199);  // and what is earned is spent
}

TEST(PictureBudget, EveryTensorHasItsTurnAndADearOneIsWaitedFor) {
  std::vector<double> prices(kTensors, 0.5);
  prices[4] = 7;
  const Spent spent = spend(0.01, prices, 500);
  const auto [least, most] = std::minmax_element(spent.taken.begin(), spent.taken.end());
  EXPECT_LE(*most - *least, 1);
  EXPECT_GT(*least, 30);
  EXPECT_LE(spent.after_first(), 500);
}

TEST(PictureBudget, AShareOfNothingTakesTheFirstPassAlone) {
  const Spent spent = spend(0, std::vector<double>(kTensors, 1.0), 50);
  EXPECT_EQ(spent.seconds[0], 10);
  EXPECT_EQ(spent.after_first(), 0);
}

TEST(PictureBudget, WhatIsEarnedIsNotHoarded) {
  std::vector<int> order(kTensors);
  std::iota(order.begin(), order.end(), 0);
  PictureBudget budget(0.5, order, kTensors);
  double spent = 0;
  const auto pass = [&](double pass_seconds) {
    std::vector<double> seconds(kTensors, 0);
    for (size_t id = 0; id < kTensors; ++id) seconds[id] = budget.wanted()[id] ? 1.0 : 0.0;
    spent += std::accumulate(seconds.begin(), seconds.end(), 0.0);
    budget.pass_done(pass_seconds, seconds);
  };
  for (int i = 0; i < 50; ++i) pass(100);  // 50 s earned in each, and 10 s to spend
  EXPECT_EQ(spent, 50 * kTensors);
  for (int i = 0; i < 20; ++i) pass(0);  // nothing is earned any more: one round is left
  EXPECT_EQ(spent, 51 * kTensors);
}

}  // namespace picture_budget_test
}  // namespace shardlens
