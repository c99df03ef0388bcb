// Compares LayerNorm with its definition, and tests the gradient's bits and how NaN spreads.
// (finite_difference_test.cpp tests the gradient's values.)
#include <gtest/gtest.h>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace layer_norm_test {

constexpr double kEpsilon = 1e-5;

template <class T>
class LayerNormTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LayerNormTest, Types);

TYPED_TEST(LayerNormTest, MatchesTheDefinition) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  for (const int64_t cols : {1, 7, 16, 33, 768}) {
    const int64_t rows = 5;
    const std::vector<T> x = normal<T>(rows * cols, 1, 3.0), gamma = normal<T>(cols, 2),
                         beta = normal<T>(cols, 3);
    std::vector<T> y(x.size()), stats(static_cast<size_t>(2 * rows));
    device->layer_norm({.dtype = kDType<T>,
                        .rows = rows,
                        .cols = cols,
                        .epsilon = kEpsilon,
                        .x = x.data(),
                        .gamma = gamma.data(),
                        .beta = beta.data(),
                        .y = y.data(),
                        .stats = stats.data()});
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

template <class T>
struct Norm {
  std::vector<T> y, stats, dx, dgamma, dbeta;

  Norm(Device& device, int64_t rows, int64_t cols, const std::vector<T>& x, const std::vector<T>& dy)
      : y(x.size()),
        stats(static_cast<size_t>(2 * rows)),
        dx(x.size()),
        dgamma(static_cast<size_t>(cols)),
        dbeta(static_cast<size_t>(cols)) {
    const std::vector<T> gamma = normal<T>(cols, 2, 1.0), beta = normal<T>(cols, 3);
    device.layer_norm({.dtype = kDType<T>,
                       .rows = rows,
                       .cols = cols,
                       .epsilon = kEpsilon,
                       .x = x.data(),
                       .gamma = gamma.data(),
                       .beta = beta.data(),
                       .y = y.data(),
                       .stats = stats.data()});
    device.layer_norm_grad({.dtype = kDType<T>,
                            .rows = rows,
                            .cols = cols,
                            .x = x.data(),
                            .gamma = gamma.data(),
                            .stats = stats.data(),
                            .dy = dy.data(),
                            .dx = dx.data(),
                            .dgamma = dgamma.data(),
                            .dbeta = dbeta.data()});
  }
};

// Its output is its shift whatever x is. A rounding error would be multiplied by 1/sqrt(epsilon).
TYPED_TEST(LayerNormTest, ARowOfOneColumnGivesItsInputExactlyNoGradient) {
  using T = TypeParam;
  const Norm<T> norm(*make_cpu_device(1), 40, 1, normal<T>(40, 1), normal<T>(40, 4));
  EXPECT_EQ(norm.dx, std::vector<T>(40, T(0)));
}

TYPED_TEST(LayerNormTest, ThreadsDoNotChangeTheBits) {
  using T = TypeParam;
  const int64_t rows = 150, cols = 333;
  const std::vector<T> x = normal<T>(rows * cols, 1), dy = normal<T>(rows * cols, 4);
  const Norm<T> serial(*make_cpu_device(1), rows, cols, x, dy),
      threaded(*make_cpu_device(3), rows, cols, x, dy);
  EXPECT_TRUE(same_bits(serial.y, threaded.y));
  EXPECT_TRUE(same_bits(serial.stats, threaded.stats));
  EXPECT_TRUE(same_bits(serial.dx, threaded.dx));
  EXPECT_TRUE(same_bits(serial.dgamma, threaded.dgamma));
  EXPECT_TRUE(same_bits(serial.dbeta, threaded.dbeta));
}

TYPED_TEST(LayerNormTest, NanReachesItsRowItsColumnAndNoOther) {
  using T = TypeParam;
  const size_t rows = 4, cols = 20;
  std::vector<T> x = normal<T>(80, 1), dy = normal<T>(80, 4);
  dy[2 * cols + 19] = T(NAN);
  const auto device = make_cpu_device(1);
  const Norm<T> clean_x(*device, rows, cols, x, dy);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_FALSE(std::isnan(clean_x.y[i]));
    EXPECT_EQ(std::isnan(clean_x.dx[i]), i / cols == 2);
  }
  for (size_t i = 0; i < cols; ++i) {
    EXPECT_EQ(std::isnan(clean_x.dgamma[i]), i == 19);
    EXPECT_EQ(std::isnan(clean_x.dbeta[i]), i == 19);
  }
  x[cols + 3] = T(NAN);
  const Norm<T> broken_x(*device, rows, cols, x, dy);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(std::isnan(broken_x.y[i]), i / cols == 1);
}

/// y and stats of rows that are cut over `ranks`, put together.
template <class T>
std::pair<std::vector<T>, std::vector<T>> norm_of_cut_rows(Device& device, int64_t rows, int64_t hidden,
                                                           int ranks, const std::vector<T>& x) {
  const std::vector<T> gamma(static_cast<size_t>(hidden), T(1)), beta(static_cast<size_t>(hidden));
  std::vector<T> sums(static_cast<size_t>(rows * ranks * 2)), y(x.size()),
      stats(static_cast<size_t>(2 * rows));
  const auto part = [&](int rank) {
    const Range columns = shard_range(hidden, ranks, rank);
    std::vector<T> values;
    for (int64_t row = 0; row < rows; ++row)
      values.insert(values.end(), x.begin() + row * hidden + columns.begin,
                    x.begin() + row * hidden + columns.end);
    return std::pair{columns, values};
  };
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [columns, values] = part(rank);
    std::vector<T> own(static_cast<size_t>(2 * rows));
    device.layer_norm_sums({kDType<T>, rows, columns.size(), hidden}, values.data(), own.data());
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(own.begin() + 2 * row, 2, sums.begin() + 2 * (row * ranks + rank));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [columns, values] = part(rank);
    std::vector<T> own(values.size());
    device.layer_norm_apply({.norm = {kDType<T>, rows, columns.size(), hidden},
                             .epsilon = kEpsilon,
                             .ranks = ranks,
                             .x = values.data(),
                             .gamma = gamma.data(),
                             .beta = beta.data(),
                             .sums = sums.data(),
                             .y = own.data(),
                             .stats = stats.data()});
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(own.begin() + row * columns.size(), columns.size(),
                  y.begin() + row * hidden + columns.begin);
  }
  return {y, stats};
}

TYPED_TEST(LayerNormTest, ACutRowKeepsASmallVarianceBesideALargeMeanAsAWholeRowDoes) {
  using T = TypeParam;
  const int64_t rows = 3, hidden = 67;
  const double mean = sizeof(T) == 4 ? 1e4 : 1e8;
  const auto device = make_cpu_device(1);
  const std::vector<T> x = normal<T>(rows * hidden, 1, mean);
  std::vector<double> expected;
  for (int64_t row = 0; row < rows; ++row) {
    long double sum = 0, squares = 0;
    const auto first = x.begin() + row * hidden;
    for (int64_t col = 0; col < hidden; ++col) sum += first[col];
    for (int64_t col = 0; col < hidden; ++col) squares += std::pow(first[col] - sum / hidden, 2.0L);
    for (int64_t col = 0; col < hidden; ++col)
      expected.push_back(
          static_cast<double>((first[col] - sum / hidden) / std::sqrt(squares / hidden + kEpsilon)));
  }
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  for (const int ranks : {1, 2, 4, 67, 80}) {
    const auto [y, stats] = norm_of_cut_rows(*device, rows, hidden, ranks, x);
    EXPECT_LT(relative_error(y, expected), 4 * mean * unit) << ranks << " ranks";
  }
}

// A row of one element is its own mean: what it says is β, and no gradient reaches it.
TYPED_TEST(LayerNormTest, ARowOfOneElementIsExactlyItsMean) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  const std::vector<T> x = normal<T>(40, 1, 3.7), dy = normal<T>(40, 4);
  const Norm<T> norm(*device, 40, 1, x, dy);
  const T beta = normal<T>(1, 3)[0];
  for (const T y : norm.y) EXPECT_EQ(y, beta);
  for (const T dx : norm.dx) EXPECT_EQ(dx, T(0));
  EXPECT_EQ(norm.dgamma[0], T(0));
  for (const T y : norm_of_cut_rows(*device, 40, 1, 2, x).first) EXPECT_EQ(y, T(0));
}

TEST(LayerNormGradTest, AVarianceSmallAgainstTheMeanSurvives) {
  // One pass over x and x² in fp32 would find a variance of 0 or less here.
  const int64_t cols = 768;
  const std::vector<float> x = normal<float>(cols, 1, 4096.0, 0.25), dy = normal<float>(cols, 2);
  const Norm<float> norm(*make_cpu_device(1), 1, cols, x, dy);
  double mean = 0, variance = 0;
  for (float value : x) mean += static_cast<double>(value) / static_cast<double>(cols);
  for (float value : x)
    variance += std::pow(static_cast<double>(value) - mean, 2.0) / static_cast<double>(cols);
  EXPECT_NEAR(static_cast<double>(norm.stats[1]) * std::sqrt(variance + kEpsilon), 1.0, 1e-5);
}

}  // namespace layer_norm_test
}  // namespace shardlens
