// The bench reports what it says it reports; how fast this machine is, is not tested.
#include "engine/comm/allreduce_bench.h"

#include <gtest/gtest.h>

#include "engine/config/error.h"

namespace shardlens {
namespace {

TEST(AllReduceBench, ReportsEveryPointWithFiguresThatAgree) {
  const auto points =
      bench_all_reduce({.ranks = {1, 3}, .sizes_bytes = {4, 1001}, .dtype = DType::Fp32, .rounds = 3});
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[1].ranks, 1);
  EXPECT_EQ(points[2].ranks, 3);
  EXPECT_EQ(points[2].bytes, 4);
  EXPECT_EQ(points[3].bytes, 1000);
  for (const AllReducePoint& point : points) {
    EXPECT_GT(point.best_seconds, 0);
    EXPECT_LE(point.best_seconds, point.p10_seconds);
    EXPECT_LE(point.p10_seconds, point.median_seconds);
    EXPECT_LE(point.median_seconds, point.p90_seconds);
    EXPECT_GT(point.copy_best_seconds, 0);
    EXPECT_LE(point.copy_best_seconds, point.copy_seconds);
    EXPECT_DOUBLE_EQ(point.of_copy, point.copy_best_seconds / point.best_seconds);
    const double algorithm = static_cast<double>(point.bytes) / point.median_seconds;
    EXPECT_DOUBLE_EQ(point.algorithm_bytes_per_second, algorithm);
    EXPECT_DOUBLE_EQ(point.bus_bytes_per_second, point.ranks == 1 ? 0 : algorithm * 4 / 3);
  }
}

TEST(AllReduceBench, RefusesWhatCannotBeMeasured) {
  EXPECT_THROW(bench_all_reduce({.ranks = {0}}), Error);
  EXPECT_THROW(bench_all_reduce({.sizes_bytes = {3}}), Error);
  EXPECT_THROW(bench_all_reduce({.dtype = DType::Bf16}), Error);
  EXPECT_THROW(bench_all_reduce({.rounds = 0}), Error);
}

}  // namespace
}  // namespace shardlens
