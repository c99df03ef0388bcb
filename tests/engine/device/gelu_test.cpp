// GeLU and its gradient in both forms, against their definitions in long double.
#include <gtest/gtest.h>

#include <numbers>

#include "engine/device/device.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace {

long double reference(GeluForm form, long double x) {
  if (form == GeluForm::Erf) return x * std::erfc(-x / std::numbers::sqrt2_v<long double>) / 2;
  const long double u = std::sqrt(2 * std::numbers::inv_pi_v<long double>) * (x + 0.044715L * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

long double reference_slope(GeluForm form, long double x) {
  const long double c = std::sqrt(2 * std::numbers::inv_pi_v<long double>);
  if (form == GeluForm::Erf)
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
class GeluTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GeluTest, Types);

TYPED_TEST(GeluTest, ValueAndSlopeMatchTheDefinition) {
  const auto device = make_cpu_device(1);
  const std::vector<TypeParam> x = grid<TypeParam>(), ones(x.size(), TypeParam(1));
  for (const GeluForm form : {GeluForm::Tanh, GeluForm::Erf}) {
    std::vector<TypeParam> y(x.size()), dx(x.size());
    device->gelu(kDType<TypeParam>, form, static_cast<int64_t>(x.size()), x.data(), y.data());
    device->gelu_grad(kDType<TypeParam>, form, static_cast<int64_t>(x.size()), x.data(), ones.data(),
                      dx.data());
    const long double ulp = std::numeric_limits<TypeParam>::epsilon();
    for (size_t i = 0; i < x.size(); ++i) {
      const long double value = reference(form, x[i]), slope = reference_slope(form, x[i]);
      EXPECT_LE(std::abs(y[i] - value), 4 * ulp * std::max(1.0L, std::abs(value))) << x[i];
      EXPECT_LE(std::abs(dx[i] - slope), 4 * ulp) << x[i];
    }
  }
}

}  // namespace
}  // namespace shardlens
