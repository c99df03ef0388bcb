// Fused operations give the same bits as the separate operations, with the same rounding where those store a
// result.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "engine/device/device.h"
#include "engine/io/half.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace fused_test {

constexpr int64_t kRows = 67, kCols = 300;  // neither is a multiple of a vector or of a group of rows

template <class S>
std::vector<S> drawn(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<S> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(S(normal(random)));
  return values;
}

template <class S, class Wide>
void expect_the_same_bits(DType dtype, int threads) {
  const auto device = make_cpu_device(threads);
  const int64_t count = kRows * kCols;
  const std::vector<S> x = drawn<S>(count, 1), a = drawn<S>(count, 2), bias = drawn<S>(kCols, 3),
                       gamma = drawn<S>(kCols, 4), beta = drawn<S>(kCols, 5), dy = drawn<S>(count, 6);
  std::vector<S> term(count), sum(count), y(count), fused_sum(count), fused_y(count);
  std::vector<Wide> stats(2 * kRows), fused_stats(2 * kRows);
  device->bias_add(
      {.dtype = dtype, .rows = kRows, .cols = kCols, .x = a.data(), .bias = bias.data(), .y = term.data()});
  device->add(dtype, count, x.data(), term.data(), sum.data());
  device->layer_norm({.dtype = dtype,
                      .rows = kRows,
                      .cols = kCols,
                      .epsilon = 1e-5,
                      .x = sum.data(),
                      .gamma = gamma.data(),
                      .beta = beta.data(),
                      .y = y.data(),
                      .stats = stats.data()});
  device->bias_add({.dtype = dtype,
                    .rows = kRows,
                    .cols = kCols,
                    .x = a.data(),
                    .bias = bias.data(),
                    .y = fused_sum.data(),
                    .addend = x.data()});
  EXPECT_TRUE(same_bits(fused_sum, sum)) << "bias and sum";
  fused_sum.assign(count, S(0.0f));
  device->layer_norm({.dtype = dtype,
                      .rows = kRows,
                      .cols = kCols,
                      .epsilon = 1e-5,
                      .x = x.data(),
                      .gamma = gamma.data(),
                      .beta = beta.data(),
                      .y = fused_y.data(),
                      .stats = fused_stats.data(),
                      .a = a.data(),
                      .bias = bias.data(),
                      .sum = fused_sum.data()});
  EXPECT_TRUE(same_bits(fused_sum, sum)) << "bias, sum and norm";
  EXPECT_TRUE(same_bits(fused_y, y) && same_bits(fused_stats, stats)) << "the norm";

  std::vector<S> dx(count), all(count), fused_all(count);
  std::vector<Wide> dgamma(kCols), dbeta(kCols), fused_dgamma(kCols), fused_dbeta(kCols);
  device->layer_norm_grad({.dtype = dtype,
                           .rows = kRows,
                           .cols = kCols,
                           .x = sum.data(),
                           .gamma = gamma.data(),
                           .stats = stats.data(),
                           .dy = dy.data(),
                           .dx = dx.data(),
                           .dgamma = dgamma.data(),
                           .dbeta = dbeta.data()});
  device->add(dtype, count, dx.data(), a.data(), all.data());
  device->layer_norm_grad({.dtype = dtype,
                           .rows = kRows,
                           .cols = kCols,
                           .x = sum.data(),
                           .gamma = gamma.data(),
                           .stats = stats.data(),
                           .dy = dy.data(),
                           .dx = fused_all.data(),
                           .dgamma = fused_dgamma.data(),
                           .dbeta = fused_dbeta.data(),
                           .addend = a.data()});
  EXPECT_TRUE(same_bits(fused_all, all)) << "the norm's gradient and sum";
  EXPECT_TRUE(same_bits(fused_dgamma, dgamma) && same_bits(fused_dbeta, dbeta));

  std::vector<Wide> db(kCols), fused_db(kCols);
  device->gelu_grad({.dtype = dtype,
                     .form = Activation::GeluTanh,
                     .count = count,
                     .x = x.data(),
                     .dy = dy.data(),
                     .dx = dx.data()});
  device->bias_grad(dtype, kRows, kCols, dx.data(), db.data());
  device->gelu_grad({.dtype = dtype,
                     .form = Activation::GeluTanh,
                     .count = count,
                     .x = x.data(),
                     .dy = dy.data(),
                     .dx = all.data(),
                     .sums = {kCols, fused_db.data(), false}});
  EXPECT_TRUE(same_bits(all, dx) && same_bits(fused_db, db)) << "GeLU's gradient and the bias's";
}

TEST(FusedOperations, GiveTheBitsOfThoseTheyStandFor) {
  for (const int threads : {1, 3}) {
    SCOPED_TRACE(threads);
    expect_the_same_bits<float, float>(DType::Fp32, threads);
    expect_the_same_bits<double, double>(DType::Fp64, threads);
    expect_the_same_bits<Bf16, float>(DType::Bf16, threads);
    expect_the_same_bits<Fp16, float>(DType::Fp16, threads);
  }
}

}  // namespace fused_test
}  // namespace shardlens
