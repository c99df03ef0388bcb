// Rows that end inside a register, of every length: each element has the same bits as in the middle of a
// longer row, and nothing is written past the last one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/device/device.h"
#include "engine/io/half.h"
#include "tests/engine/device/operands.h"

namespace shardlens {
namespace tails_test {

constexpr int64_t kLongest = 40;  // more than two of the widest registers hold
constexpr int64_t kBehind = 32;

template <class S>
struct TailsTest : public ::testing::Test {
  static constexpr DType dtype() {
    if constexpr (std::is_same_v<S, double>) return DType::Fp64;
    if constexpr (std::is_same_v<S, float>) return DType::Fp32;
    return std::is_same_v<S, Bf16> ? DType::Bf16 : DType::Fp16;
  }
};
using Formats = ::testing::Types<double, float, Bf16, Fp16>;
TYPED_TEST_SUITE(TailsTest, Formats);

TYPED_TEST(TailsTest, AnElementHasTheSameBitsWhereverTheRowEndsAndNothingIsWrittenBehindIt) {
  using S = TypeParam;
  const auto device = make_cpu_device(1);
  std::vector<S> x;
  for (const double value : normal<double>(kLongest, 5)) x.push_back(S(static_cast<float>(value)));
  std::vector<S> whole(x.size());
  device->gelu(this->dtype(), Activation::GeluTanh, kLongest, x.data(), whole.data());
  for (int64_t count = 1; count < kLongest; ++count) {
    const S mark(77.0f);
    std::vector<S> y(static_cast<size_t>(count + kBehind), mark);
    device->gelu(this->dtype(), Activation::GeluTanh, count, x.data(), y.data());
    std::vector<S> expected(whole.begin(), whole.begin() + count);
    expected.resize(y.size(), mark);
    EXPECT_TRUE(same_bits(y, expected)) << count << " elements";
  }
}

template <class T>
void expect_largest_in_every_place(DType dtype) {
  const auto device = make_cpu_device(1);
  for (int64_t width = 1; width < kLongest; ++width)
    for (int64_t place = 0; place < width; ++place) {
      std::vector<T> row(static_cast<size_t>(width), T(-3));
      if (place > 0) row.front() = std::numeric_limits<T>::quiet_NaN();
      if (place + 1 < width) row.back() = std::numeric_limits<T>::quiet_NaN();
      row[static_cast<size_t>(place)] = T(-2);
      row.push_back(T(9));  // not one of the row
      T largest = 0;
      device->vocab_max({dtype, 1, {0, width}, width}, row.data(), &largest);
      ASSERT_EQ(largest, T(-2)) << "at " << place << " of " << width;
    }
}

TEST(RowMaximum, IsFoundWhereverItStandsBesideWhatIsNoNumber) {
  expect_largest_in_every_place<float>(DType::Fp32);
  expect_largest_in_every_place<double>(DType::Fp64);
}

}  // namespace tails_test
}  // namespace shardlens
