// Compares GeLU and its gradient, in both forms, with their definitions in long double.
#include <gtest/gtest.h>

#include <numbers>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace gelu_test {

long double reference(Activation form, long double x) {
  if (form == Activation::GeluErf) return x * std::erfc(-x / std::numbers::sqrt2_v<long double>) / 2;
  const long double u = std::sqrt(2 * std::numbers::inv_pi_v<long double>) * (x + 0.044715L * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

long double reference_slope(Activation form, long double x) {
  const long double c = std::sqrt(2 * std::numbers::inv_pi_v<long double>);
  if (form == Activation::GeluErf)
    return std::erfc(-x / std::numbers::sqrt2_v<long double>) / 2 + x * c / 2 * std::exp(-x * x / 2);
  const long double sigma = 1 / (1 + std::exp(-2 * c * (x + 0.044715L * x * x * x)));
  return sigma + x * sigma * (1 - sigma) * 2 * c * (1 + 3 * 0.044715L * x * x);
}

template <class T>
std::vector<T> grid() {
  std::vector<T> x;
  for (double v = -12; v <= 12; v += 1.0 / 256 + 1e-5) x.push_back(static_cast<T>(v));
  for (double v : {0.0, 1e-30, -1e-30, 50.0, 1e10}) x.push_back(static_cast<T>(v));
  return x;
}

template <class T>
class GeluTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GeluTest, Types);

TYPED_TEST(GeluTest, ValueAndSlopeMatchTheDefinition) {
  const auto device = make_cpu_device(1);
  const std::vector<TypeParam> x = grid<TypeParam>(), ones(x.size(), TypeParam(1));
  for (const Activation form : {Activation::GeluTanh, Activation::GeluErf}) {
    std::vector<TypeParam> y(x.size()), dx(x.size());
    device->gelu(kDType<TypeParam>, form, static_cast<int64_t>(x.size()), x.data(), y.data());
    device->gelu_grad({.dtype = kDType<TypeParam>,
                       .form = form,
                       .count = static_cast<int64_t>(x.size()),
                       .x = x.data(),
                       .dy = ones.data(),
                       .dx = dx.data()});
    const long double ulp = std::numeric_limits<TypeParam>::epsilon();
    for (size_t i = 0; i < x.size(); ++i) {
      const long double value = reference(form, x[i]), slope = reference_slope(form, x[i]);
      EXPECT_LE(std::abs(y[i] - value), 4 * ulp * std::max(1.0L, std::abs(value))) << x[i];
      EXPECT_LE(std::abs(dx[i] - slope), 4 * ulp) << x[i];
    }
  }
}

// The gate (1 + tanh u)/2 by its own size: two units in the last place where it is near 1, and in the
// negative tail, where it is as small as e^2u, what the three roundings of 2u make of it.
TYPED_TEST(GeluTest, TheTanhFormKeepsItsDigitsInTheTail) {
  const auto device = make_cpu_device(1);
  const std::vector<TypeParam> x = grid<TypeParam>();
  std::vector<TypeParam> y(x.size());
  device->gelu(kDType<TypeParam>, Activation::GeluTanh, static_cast<int64_t>(x.size()), x.data(), y.data());
  const long double epsilon = std::numeric_limits<TypeParam>::epsilon();
  int compared = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double value = reference(Activation::GeluTanh, x[i]), v = x[i];
    if (std::abs(value) < 16 * std::numeric_limits<TypeParam>::min()) continue;  // digits are lost at its end
    const long double twice_u =
        2 * std::sqrt(2 * std::numbers::inv_pi_v<long double>) * (v + 0.044715L * v * v * v);
    EXPECT_LE(std::abs(y[i] - value), (2 + 1.5L * std::max(0.0L, -twice_u)) * epsilon * std::abs(value))
        << x[i];
    ++compared;
  }
  EXPECT_GT(compared, 4000);
}

TYPED_TEST(GeluTest, AnElementDependsOnNeitherItsPositionNorTheCountNorTheThreads) {
  using T = TypeParam;
  const int64_t count = 40007;
  const std::vector<T> x = normal<T>(count, 1, 0, 3), dy = normal<T>(count, 2);
  const auto serial = make_cpu_device(1), threaded = make_cpu_device(3);
  for (const Activation form : {Activation::GeluTanh, Activation::GeluErf}) {
    std::vector<T> y(x.size()), dx(x.size()), y_part(x.size()), dx_part(x.size());
    serial->gelu(kDType<T>, form, count, x.data(), y.data());
    serial->gelu_grad(
        {.dtype = kDType<T>, .form = form, .count = count, .x = x.data(), .dy = dy.data(), .dx = dx.data()});
    int64_t length = 1;
    for (int64_t i = 0; i < count; i += length, length = length % 53 + 1) {
      length = std::min(length, count - i);
      serial->gelu(kDType<T>, form, length, x.data() + i, y_part.data() + i);
      serial->gelu_grad({.dtype = kDType<T>,
                         .form = form,
                         .count = length,
                         .x = x.data() + i,
                         .dy = dy.data() + i,
                         .dx = dx_part.data() + i});
    }
    EXPECT_TRUE(same_bits(y, y_part));
    EXPECT_TRUE(same_bits(dx, dx_part));
    threaded->gelu(kDType<T>, form, count, x.data(), y_part.data());
    threaded->gelu_grad({.dtype = kDType<T>,
                         .form = form,
                         .count = count,
                         .x = x.data(),
                         .dy = dy.data(),
                         .dx = dx_part.data()});
    EXPECT_TRUE(same_bits(y, y_part));
    EXPECT_TRUE(same_bits(dx, dx_part));
  }
}

TYPED_TEST(GeluTest, NanStaysWhereItIs) {
  using T = TypeParam;
  const auto device = make_cpu_device(1);
  for (const Activation form : {Activation::GeluTanh, Activation::GeluErf})
    for (const size_t place : {size_t{3}, size_t{36}}) {  // in a whole vector and in the tail
      std::vector<T> x = normal<T>(37, 1), ones(x.size(), T(1)), y(x.size()), dx(x.size());
      x[place] = T(NAN);
      device->gelu(kDType<T>, form, 37, x.data(), y.data());
      device->gelu_grad(
          {.dtype = kDType<T>, .form = form, .count = 37, .x = x.data(), .dy = ones.data(), .dx = dx.data()});
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(std::isnan(y[i]), i == place);
        EXPECT_EQ(std::isnan(dx[i]), i == place);
      }
    }
}

}  // namespace gelu_test
}  // namespace shardlens
