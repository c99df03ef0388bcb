// The two 16-bit formats: every 16-bit number survives widening and narrowing, and values between two of them
// are rounded to the nearest.
#include "engine/io/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shardlens {
namespace io_half_test {

template <class Narrow>
void every_number_survives(const Narrow& narrow, float (*widen)(uint16_t)) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = widen(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(widen(narrow(value)))) << bits;
    else
      ASSERT_EQ(narrow(value), bits);
  }
}

TEST(Half, EveryNumberSurvivesWidening) {
  every_number_survives(float_to_bfloat, bfloat_to_float);
  every_number_survives(float_to_half, half_to_float);
}

// Between two neighbours: the nearer one; in the middle the one whose last bit is 0.
template <class Narrow>
void rounds_to_nearest(const Narrow& narrow, float (*widen)(uint16_t), uint16_t largest) {
  for (uint16_t bits = 0; bits < largest; ++bits) {
    const float low = widen(bits), high = widen(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    const uint16_t even = bits % 2 == 0 ? bits : static_cast<uint16_t>(bits + 1);
    ASSERT_EQ(narrow(middle), even) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, low)), bits) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, high)), bits + 1) << low;
    ASSERT_EQ(narrow(-middle), even | 0x8000) << low;
  }
}

TEST(Half, RoundsToNearestEven) {
  rounds_to_nearest(float_to_half, half_to_float, 0x7BFF);
  // bf16's own subnormals lie where fp32's neighbours are farther apart than nextafter's steps can tell.
  for (uint16_t bits = 0x0080; bits < 0x7F7F; ++bits) {
    const float low = bfloat_to_float(bits), high = bfloat_to_float(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(float_to_bfloat(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(float_to_bfloat(std::nextafter(middle, low)), bits);
    ASSERT_EQ(float_to_bfloat(std::nextafter(middle, high)), bits + 1);
  }
}

TEST(Half, TooLargeIsInfinity) {
  EXPECT_EQ(half_to_float(float_to_half(65504.0f)), 65504.0f);
  EXPECT_EQ(half_to_float(float_to_half(65519.9f)), 65504.0f);
  EXPECT_TRUE(std::isinf(half_to_float(float_to_half(65520.0f))));
  EXPECT_TRUE(std::isinf(half_to_float(float_to_half(1e30f))));
  EXPECT_TRUE(std::isinf(bfloat_to_float(float_to_bfloat(std::numeric_limits<float>::max()))));
}

}  // namespace io_half_test
}  // namespace shardlens
