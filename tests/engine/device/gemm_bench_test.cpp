// How the benchmark of the ceiling counts. The speed of this machine is not tested.
#include "engine/device/gemm_bench.h"

#include <gtest/gtest.h>

#include <atomic>

#include "engine/base/error.h"
#include "tests/engine/distant_device.h"

namespace shardlens {
namespace gemm_bench_test {

TEST(GemmBenchTest, MeasuresEveryShapeAndFindsTheFastest) {
  const std::vector<GemmShape> shapes = {
      {false, false, 64, 64, 64}, {true, false, 8, 8, 4}, {false, true, 1, 5, 3}};
  for (const DType dtype : {DType::Fp32, DType::Fp64}) {
    const GemmCeiling ceiling = measure_gemm_ceiling(dtype, shapes, 2, 1, 3);
    ASSERT_EQ(ceiling.rates.size(), shapes.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      const GemmRate& rate = ceiling.rates[i];
      EXPECT_EQ(rate.shape, shapes[i]);
      EXPECT_GT(rate.lowest_flops, 0);
      EXPECT_LE(rate.lowest_flops, rate.median_flops);
      EXPECT_LE(rate.median_flops, rate.highest_flops);
      EXPECT_LE(rate.median_flops, ceiling.best().median_flops);
    }
  }
}

// As on GPUs: the devices that were asked for, whose memory no host may touch and which work behind their
// calls.
TEST(GemmBenchTest, MeasuresOnTheDevicesItIsGiven) {
  for (const bool behind : {false, true}) {
    testing::DistantOptions options;
    options.works_behind = behind;
    const auto backend = testing::make_distant_backend(options);
    std::atomic<int> made = 0;
    const GemmCeiling ceiling =
        measure_gemm_ceiling(DType::Bf16, {{true, false, 24, 16, 8, true}}, 2, 1, 2, [&](int rank) {
          ++made;
          return backend->make_device(rank, 1);
        });
    EXPECT_EQ(made, 2);
    EXPECT_GT(ceiling.best().lowest_flops, 0);
  }
}

TEST(GemmBenchTest, RefusesNothingToMeasure) {
  EXPECT_THROW(measure_gemm_ceiling(DType::Fp32, {{false, false, 4, 0, 4}}, 1, 1, 1), Error);
  EXPECT_THROW(measure_gemm_ceiling(DType::Fp32, {{false, false, 4, 4, 4}}, 0, 1, 1), Error);
  EXPECT_THROW(measure_gemm_ceiling(DType::Fp32, {{false, false, 4, 4, 4}}, 1, 1, 0), Error);
}

TEST(GemmBenchTest, ARefusalOnTheRanksReachesTheCaller) {
  EXPECT_THROW(measure_gemm_ceiling(DType::Int32, {{false, false, 4, 4, 4}}, 3, 1, 1), Error);
}

}  // namespace gemm_bench_test
}  // namespace shardlens
