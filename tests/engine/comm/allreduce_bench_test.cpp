// The benchmark reports all its figures. The speed of this machine is not tested.
#include "engine/comm/allreduce_bench.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/error.h"
#include "engine/comm/comm.h"
#include "tests/engine/distant_device.h"

namespace shardlens {
namespace allreduce_bench_test {

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
    EXPECT_GT(point.pass_best_seconds, 0);
    EXPECT_LE(point.pass_best_seconds, point.pass_seconds);
    EXPECT_GT(point.of_pass_p10, 0);
    EXPECT_LE(point.of_pass_p10, point.of_pass);
    EXPECT_LE(point.of_pass, point.of_pass_p90);
    const double algorithm = static_cast<double>(point.bytes) / point.median_seconds;
    EXPECT_DOUBLE_EQ(point.algorithm_bytes_per_second, algorithm);
    EXPECT_DOUBLE_EQ(point.bus_bytes_per_second, point.ranks == 1 ? 0 : algorithm * 4 / 3);
  }
}

// Whoever touches their memory from outside their operations and collectives crashes.
BenchRanks on_devices(bool works_behind, const std::string& fails_at = "") {
  testing::DistantOptions options;
  options.works_behind = works_behind;
  options.fails_at = fails_at;
  const auto backend = testing::make_distant_backend(options);
  return {[backend](int rank) { return backend->make_device(rank, 1); },
          [backend](int ranks) { return backend->make_group(ranks, ranks); }};
}

TEST(AllReduceBench, OfDevicesItMeasuresTheirMemory) {
  for (const bool works_behind : {false, true}) {
    const auto points =
        bench_all_reduce({.ranks = {2}, .sizes_bytes = {1 << 20}, .dtype = DType::Fp32, .rounds = 1},
                         on_devices(works_behind));
    ASSERT_EQ(points.size(), 1u);
    EXPECT_EQ(points[0].device, "distant");
    EXPECT_FALSE(points[0].core_per_rank);
    EXPECT_GT(points[0].best_seconds, 0);
    EXPECT_GT(points[0].pass_best_seconds, 0);
  }
  const auto on_cpu = bench_all_reduce({.sizes_bytes = {1 << 10}, .rounds = 1});
  EXPECT_EQ(on_cpu[0].device, "");
  EXPECT_EQ(on_cpu[0].communicator, "local");
}

std::string failure_of(const BenchRanks& on) {
  try {
    bench_all_reduce({.ranks = {3}, .sizes_bytes = {1 << 10}, .rounds = 1}, on);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(AllReduceBench, SaysWhatADeviceFailedOf) {
  BenchRanks on = on_devices(false);
  const auto make = on.make_device;
  on.make_device = [make](int rank) {
    if (rank == 1) throw run_error("GPU 1 is not there");
    return make(rank);
  };
  EXPECT_EQ(failure_of(on), "GPU 1 is not there");
  // It is the device that reads and writes.
  for (const bool works_behind : {false, true})
    EXPECT_EQ(failure_of(on_devices(works_behind, "add")), "the device has failed");
}

TEST(AllReduceBench, RefusesWhatCannotBeMeasured) {
  EXPECT_THROW(bench_all_reduce({.ranks = {0}}), Error);
  EXPECT_THROW(bench_all_reduce({.sizes_bytes = {3}}), Error);
  EXPECT_THROW(bench_all_reduce({.dtype = DType::Bf16}), Error);
  EXPECT_THROW(bench_all_reduce({.rounds = 0}), Error);
}

}  // namespace allreduce_bench_test
}  // namespace shardlens
