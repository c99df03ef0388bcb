// Compares the generator with its authors' published answers and the distributions with their moments. Also
// tests the property that the engine needs: an element's bits depend only on its index.
#include "engine/device/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace shardlens {
namespace philox_test {

std::vector<double> normal(const RandomStream& stream, int64_t first, int64_t count, double mean = 0,
                           double stddev = 1) {
  std::vector<double> values(static_cast<size_t>(count));
  fill_normal(stream, mean, stddev, first, count, DType::Fp64, values.data());
  return values;
}

// The known-answer vectors that the authors' library (Random123) publishes for philox4x32-10.
TEST(Philox, KnownAnswers) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32_10({f, f, f, f}, {f, f}), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Box and Muller's formula with the C library's functions, on the same words.
TEST(Philox, NormalValuesAreBoxMullerOfTheWords) {
  const RandomStream stream(42, "w");
  const std::vector<double> values = normal(stream, 0, 40'000);
  const auto name_low = static_cast<uint32_t>(stream.name_hash);
  const auto name_high = static_cast<uint32_t>(stream.name_hash >> 32);
  for (size_t i = 0; i < values.size(); i += 2) {
    const auto words = philox4x32_10({static_cast<uint32_t>(i / 4), 0, name_low, name_high}, {42, 0});
    const size_t pair = i % 4;
    const double u = (words[pair] + 0.5) * 0x1p-32;
    const double quadrant = words[pair + 1] >> 30;
    const double within = ((words[pair + 1] & 0x3FFFFFFF) + 0.5) * 0x1p-30 - 0.5;
    const double angle = (quadrant + within) * std::numbers::pi / 2;
    const double radius = std::sqrt(-2 * std::log(u));
    ASSERT_NEAR(values[i], radius * std::cos(angle), 1e-14 * (1 + radius)) << i;
    ASSERT_NEAR(values[i + 1], radius * std::sin(angle), 1e-14 * (1 + radius)) << i;
  }
}

TEST(Philox, EverySliceEqualsTheFullRangeBitForBit) {
  const RandomStream stream(7, "transformer.h.0.mlp.c_fc.weight");
  const int64_t offset = (int64_t{1} << 34) - 1500;  // crosses the counter's first word
  for (const int64_t base : {int64_t{0}, offset}) {
    const std::vector<double> full = normal(stream, base, 5000, 0.5, 0.02);
    for (const int64_t first : {0, 1, 2, 3, 4, 5, 1021, 1022, 1023, 1024, 1025, 4999}) {
      for (const int64_t count : {0, 1, 2, 3, 4, 5, 7, 63, 1023, 1024, 1025, 3000}) {
        if (first + count > 5000) continue;
        const std::vector<double> slice = normal(stream, base + first, count, 0.5, 0.02);
        ASSERT_TRUE(std::equal(slice.begin(), slice.end(), full.begin() + first)) << first << " " << count;
      }
    }
  }
}

TEST(Philox, Fp32IsTheRoundingOfFp64) {
  const RandomStream stream(1, "x");
  const std::vector<double> exact = normal(stream, 3, 10'000, 0, 0.02);
  std::vector<float> rounded(exact.size());
  fill_normal(stream, 0, 0.02, 3, 10'000, DType::Fp32, rounded.data());
  for (size_t i = 0; i < exact.size(); ++i) ASSERT_EQ(rounded[i], static_cast<float>(exact[i]));
}

TEST(Philox, MomentsAreThoseOfTheNormalDistribution) {
  constexpr int64_t kCount = 1'000'000;
  const std::vector<double> values = normal(RandomStream(3, "moments"), 0, kCount, 1, 2);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, neighbours = 0, tail = 0, previous = 0;
  for (const double value : values) {
    const double z = (value - 1) / 2;
    m1 += z;
    m2 += z * z;
    m3 += z * z * z;
    m4 += z * z * z * z;
    neighbours += z * previous;
    tail += std::abs(z) > 2 ? 1 : 0;
    previous = z;
  }
  const double sigma = 1 / std::sqrt(static_cast<double>(kCount));  // standard error of the mean
  EXPECT_NEAR(m1 / kCount, 0, 5 * sigma);
  EXPECT_NEAR(m2 / kCount, 1, 5 * std::sqrt(2.0) * sigma);
  EXPECT_NEAR(m3 / kCount, 0, 5 * std::sqrt(15.0) * sigma);
  EXPECT_NEAR(m4 / kCount, 3, 5 * std::sqrt(96.0) * sigma);
  EXPECT_NEAR(neighbours / kCount, 0, 5 * sigma);
  EXPECT_NEAR(tail / kCount, std::erfc(std::numbers::sqrt2), 5 * 0.21 * sigma);
}

TEST(Philox, SeedsAndNamesGiveOtherSequences) {
  const std::vector<double> values = normal(RandomStream(1, "a"), 0, 64);
  EXPECT_EQ(values, normal(RandomStream(1, "a"), 0, 64));
  EXPECT_NE(values, normal(RandomStream(2, "a"), 0, 64));
  EXPECT_NE(values, normal(RandomStream(uint64_t{1} << 32 | 1, "a"), 0, 64));
  EXPECT_NE(values, normal(RandomStream(1, "b"), 0, 64));
}

TEST(Philox, IntegersAreUniformAndByIndex) {
  const RandomStream stream(5, "integers");
  std::vector<float> values(70'000);
  fill_integers(stream, 3, 0, 70'000, DType::Fp32, values.data());
  std::array<int, 7> counts{};
  for (const float value : values) {
    ASSERT_EQ(value, std::round(value));
    ASSERT_LE(std::abs(value), 3);
    ++counts[static_cast<size_t>(value + 3)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 5 * std::sqrt(10'000.0 * 6 / 7));
  std::vector<double> slice(1500);
  fill_integers(stream, 3, 1021, 1500, DType::Fp64, slice.data());
  EXPECT_TRUE(std::equal(slice.begin(), slice.end(), values.begin() + 1021));
}

}  // namespace philox_test
}  // namespace shardlens
