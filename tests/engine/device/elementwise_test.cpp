// Bias, bias gradient, sum, rounding and slicing.
#include <gtest/gtest.h>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace {

TEST(ElementwiseTest, BiasGradientSumsOverRows) {
  const auto device = make_cpu_device(1);
  const int64_t rows = 100, cols = 300;
  const std::vector<float> dy = normal<float>(rows * cols, 1);
  std::vector<float> db(static_cast<size_t>(cols));
  device->bias_grad(DType::Fp32, rows, cols, dy.data(), db.data());
  std::vector<double> expected(static_cast<size_t>(cols));
  for (size_t i = 0; i < dy.size(); ++i)
    expected[i % static_cast<size_t>(cols)] += static_cast<double>(dy[i]);
  EXPECT_LT(relative_error(db, expected), kBound<float>);
}

TEST(ElementwiseTest, RoundsTiesToEvenAndClamps) {
  const auto device = make_cpu_device(1);
  const std::vector<double> x = {0.5, 1.5, 2.5, -0.5, -1.5, 7.4, 9.0, -9.0, 2.49};
  std::vector<double> y(x.size());
  device->round(DType::Fp64, static_cast<int64_t>(x.size()), 7, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<double>{0, 2, 2, 0, -2, 7, 7, -7, 2}));
}

TEST(ElementwiseTest, SlicesTheMiddleDimension) {
  const auto device = make_cpu_device(1);
  const std::vector<float> full = normal<float>(2 * 5 * 3, 1);
  std::vector<float> shard(2 * 2 * 3);
  device->slice(DType::Fp32, {2, 5, 3}, {1, 3}, full.data(), shard.data());
  for (size_t o = 0; o < 2; ++o)
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(shard[o * 6 + i], full[o * 15 + 3 + i]);
}

}  // namespace
}  // namespace shardlens
