// LayerNorm and its gradients against their definition and central differences.
#include <gtest/gtest.h>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace {

constexpr double kEpsilon = 1e-5;

template <class T>
class LayerNormTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(LayerNormTest, Types);

TYPED_TEST(LayerNormTest, MatchesTheDefinition) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  for (const int64_t cols : {1, 7, 16, 33, 768}) {
    const int64_t rows = 5;
    const std::vector<T> x = normal<T>(rows * cols, 1, 3.0), gamma = normal<T>(cols, 2),
                         beta = normal<T>(cols, 3);
    std::vector<T> y(x.size()), stats(static_cast<size_t>(2 * rows));
    device->layer_norm(kDType<T>, rows, cols, kEpsilon, x.data(), gamma.data(), beta.data(), y.data(),
                       stats.data());
    std::vector<double> expected, expected_stats;
    for (int64_t row = 0; row < rows; ++row) {
      long double mean = 0, variance = 0;
      for (int64_t col = 0; col < cols; ++col) mean += x[static_cast<size_t>(row * cols + col)];
      mean /= cols;
      for (int64_t col = 0; col < cols; ++col)
        variance += std::pow(x[static_cast<size_t>(row * cols + col)] - mean, 2.0L);
      const long double inverse = 1 / std::sqrt(variance / cols + kEpsilon);
      expected_stats.push_back(static_cast<double>(mean));
      expected_stats.push_back(static_cast<double>(inverse));
      for (int64_t col = 0; col < cols; ++col)
        expected.push_back(static_cast<double>((x[static_cast<size_t>(row * cols + col)] - mean) * inverse *
                                                   gamma[static_cast<size_t>(col)] +
                                               beta[static_cast<size_t>(col)]));
    }
    EXPECT_LT(relative_error(y, expected), kBound<T>) << cols;
    EXPECT_LT(relative_error(stats, expected_stats), kBound<T>) << cols;
  }
}

TEST(LayerNormGradTest, MatchesCentralDifferences) {
  const auto device = make_cpu_device(1);
  const int64_t rows = 3, cols = 19;
  const std::vector<double> x = normal<double>(rows * cols, 1, 2.0), gamma = normal<double>(cols, 2);
  const std::vector<double> beta = normal<double>(cols, 3), dy = normal<double>(rows * cols, 4);
  std::vector<double> y(x.size()), stats(static_cast<size_t>(2 * rows));
  const auto loss = [&](const std::vector<double>& at, const std::vector<double>& g,
                        const std::vector<double>& b) {
    device->layer_norm(DType::Fp64, rows, cols, kEpsilon, at.data(), g.data(), b.data(), y.data(),
                       stats.data());
    return dot(y, dy);
  };
  loss(x, gamma, beta);
  std::vector<double> dx(x.size()), dgamma(gamma.size()), dbeta(beta.size());
  device->layer_norm_grad(DType::Fp64, rows, cols, x.data(), gamma.data(), stats.data(), dy.data(), dx.data(),
                          dgamma.data(), dbeta.data());
  EXPECT_LT(relative_error(dx, finite_differences(x, [&](const auto& v) { return loss(v, gamma, beta); })),
            1e-8);
  EXPECT_LT(
      relative_error(dgamma, finite_differences(gamma, [&](const auto& v) { return loss(x, v, beta); })),
      1e-8);
  EXPECT_LT(relative_error(dbeta, finite_differences(beta, [&](const auto& v) { return loss(x, gamma, v); })),
            1e-8);
}

}  // namespace
}  // namespace shardlens
