// Bias, bias gradient, sum, rounding and slicing.
#include <gtest/gtest.h>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace elementwise_test {

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

TEST(ElementwiseTest, SlicesTogetherAreTheWhole) {
  for (const int threads : {1, 3}) {
    const auto device = make_cpu_device(threads);
    const std::vector<double> full = normal<double>(700 * 11 * 2, 1);
    for (int rank = 0; rank < 13; ++rank) {  // more ranks than elements: some hold nothing
      const Range range = shard_range(11, 13, rank);
      std::vector<double> shard(static_cast<size_t>(700 * range.size() * 2));
      device->slice(DType::Fp64, {700, 11, 2}, range, full.data(), shard.data());
      EXPECT_TRUE(same_bits(shard, columns(full, 22, {range.begin * 2, range.end * 2})));
    }
  }
}

TEST(ElementwiseTest, AColumnOfTheBiasGradientDependsOnNoOtherColumnNorOnTheThreads) {
  const int64_t rows_count = 333, cols = 700;
  const std::vector<float> dy = normal<float>(rows_count * cols, 1);
  std::vector<float> full(static_cast<size_t>(cols));
  make_cpu_device(1)->bias_grad(DType::Fp32, rows_count, cols, dy.data(), full.data());
  for (const int threads : {1, 3})
    for (const int ranks : {1, 3, 12}) {
      const Range range = shard_range(cols, ranks, ranks - 1);
      const std::vector<float> shard = columns(dy, cols, range);
      std::vector<float> db(static_cast<size_t>(range.size()));
      make_cpu_device(threads)->bias_grad(DType::Fp32, rows_count, range.size(), shard.data(), db.data());
      EXPECT_TRUE(same_bits(db, columns(full, cols, range))) << ranks << " ranks, " << threads << " threads";
    }
}

TEST(ElementwiseTest, SumsWorkInPlaceOnAnyNumberOfThreads) {
  const int64_t count = 50001;
  const std::vector<float> a = normal<float>(count, 1), b = normal<float>(count, 2);
  std::vector<float> expected(a.size());
  for (size_t i = 0; i < a.size(); ++i) expected[i] = a[i] + b[i];
  for (const int threads : {1, 3}) {
    std::vector<float> y = a;
    make_cpu_device(threads)->add(DType::Fp32, count, y.data(), b.data(), y.data());
    EXPECT_TRUE(same_bits(y, expected));
    y = b;
    make_cpu_device(threads)->add(DType::Fp32, count, a.data(), y.data(), y.data());
    EXPECT_TRUE(same_bits(y, expected));
  }
}

TEST(ElementwiseTest, NanIsNotRoundedAway) {
  const auto device = make_cpu_device(1);
  const std::vector<float> x = {1, NAN, 2};
  std::vector<float> y(3);
  device->round(DType::Fp32, 3, 7, x.data(), y.data());
  EXPECT_TRUE(std::isnan(y[1]));
  device->bias_add(
      {.dtype = DType::Fp32, .rows = 1, .cols = 3, .x = x.data(), .bias = x.data(), .y = y.data()});
  EXPECT_TRUE(std::isnan(y[1]));
  device->bias_grad(DType::Fp32, 3, 1, x.data(), y.data());
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST(ElementwiseTest, NothingToDoIsDone) {
  const auto device = make_cpu_device(2);
  for (const DType dtype : {DType::Fp32, DType::Fp64}) {
    device->add(dtype, 0, nullptr, nullptr, nullptr);
    device->round(dtype, 0, 3, nullptr, nullptr);
    device->gelu(dtype, Activation::GeluTanh, 0, nullptr, nullptr);
    device->gelu_grad({.dtype = dtype, .form = Activation::GeluErf, .count = 0});
    device->bias_add({.dtype = dtype, .rows = 5, .cols = 0});
    device->bias_grad(dtype, 5, 0, nullptr, nullptr);
    device->slice(dtype, {5, 3, 2}, {1, 1}, nullptr, nullptr);
    double zero_rows[3] = {1, 1, 1};
    device->bias_grad(dtype, 0, 3, nullptr, zero_rows);
    EXPECT_EQ(zero_rows[0], 0);
  }
}

}  // namespace elementwise_test
}  // namespace shardlens
