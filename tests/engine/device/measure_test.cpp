// Measuring in blocks and vectors gives the same as a plain loop, for every type and awkward extents.
#include "engine/device/measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "engine/io/half.h"

namespace shardlens {
namespace measure_test {

struct Extents {
  int64_t rows, cols;
  int mean_rows, mean_cols;
};

// Whole numbers of either sign: all sums are exact, in whatever order.
template <class T>
std::vector<T> numbers(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<T>((i * 37) % 101 - 50);
  return values;
}

template <class T>
void expect_as_a_plain_loop(DType dtype, const Extents& e) {
  const std::vector<T> values = numbers<T>(e.rows * e.cols);
  std::vector<float> means(static_cast<size_t>(e.mean_rows * e.mean_cols), -1.0f);
  const Measured measured =
      measure(dtype, values.data(), e.rows, e.cols, e.mean_rows, e.mean_cols, means.data());
  double sum = 0, squares = 0, low = 1e9, high = -1e9;
  for (const T& stored : values) {
    const double value = static_cast<double>(stored);
    sum += value;
    squares += value * value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  EXPECT_EQ(measured.sum, sum);
  EXPECT_EQ(measured.squares, squares);
  EXPECT_EQ(measured.min, low);
  EXPECT_EQ(measured.max, high);
  EXPECT_EQ(measured.not_finite, 0);
  for (int64_t r = 0; r < e.mean_rows; ++r)
    for (int64_t c = 0; c < e.mean_cols; ++c) {
      double block = 0;
      int64_t count = 0;
      for (int64_t i = r * e.rows / e.mean_rows; i < (r + 1) * e.rows / e.mean_rows; ++i)
        for (int64_t j = c * e.cols / e.mean_cols; j < (c + 1) * e.cols / e.mean_cols; ++j, ++count)
          block += static_cast<double>(values[static_cast<size_t>(i * e.cols + j)]);
      ASSERT_EQ(means[static_cast<size_t>(r * e.mean_cols + c)],
                static_cast<float>(block / static_cast<double>(count)))
          << r << ", " << c;
    }
  std::vector<float> alone(means.size());
  block_means(dtype, values.data(), e.rows, e.cols, e.mean_rows, e.mean_cols, alone.data());
  EXPECT_EQ(alone, means);
}

TEST(Measure, IsWhatAPlainLoopFinds) {
  for (const Extents& e : {Extents{1, 1, 1, 1},
                           {1, 5000, 1, 64},
                           {5000, 1, 64, 1},
                           {3, 2048, 2, 7},
                           {129, 17, 10, 17},
                           {61, 4099, 61, 64},
                           {3, 20001, 2, 64},
                           {700, 65, 3, 64},
                           {1000, 768, 64, 64},
                           {70, 192, 1, 64},
                           {3, 16384, 2, 64},
                           {2, 15, 1, 1}}) {
    expect_as_a_plain_loop<float>(DType::Fp32, e);
    expect_as_a_plain_loop<double>(DType::Fp64, e);
    expect_as_a_plain_loop<int32_t>(DType::Int32, e);
    expect_as_a_plain_loop<Bf16>(DType::Bf16, e);
    expect_as_a_plain_loop<Fp16>(DType::Fp16, e);
  }
}

TEST(Measure, TheMeansAloneAreTheSameToTheBit) {
  for (const int64_t cols : {64, 100, 768, 16384}) {
    std::vector<float> values = numbers<float>(200 * cols);
    for (size_t i = 0; i < values.size(); ++i) values[i] /= static_cast<float>(i % 7 + 3);
    std::vector<float> means(64 * 64), alone(64 * 64);
    measure(DType::Fp32, values.data(), 200, cols, 64, 64, means.data());
    block_means(DType::Fp32, values.data(), 200, cols, 64, 64, alone.data());
    EXPECT_EQ(means, alone) << cols;
  }
}

TEST(Measure, NumbersThatAreNoneAreCountedWhereverTheyStand) {
  const std::vector<double> bad{std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity()};
  for (const size_t at : {size_t{0}, size_t{15}, size_t{16}, size_t{2047}, size_t{2048}, size_t{4999}}) {
    std::vector<float> values(5000, 2.0f);
    values[at] = static_cast<float>(bad[at % 3]);
    float mean = 0;
    const Measured measured = measure(DType::Fp32, values.data(), 1, 5000, 1, 1, &mean);
    EXPECT_EQ(measured.not_finite, 1) << at;
    EXPECT_EQ(measured.sum, 2.0 * 4999) << at;
    EXPECT_EQ(measured.min, 2) << at;
    EXPECT_EQ(measured.max, 2) << at;
    EXPECT_FALSE(std::isfinite(mean)) << at;
  }
}

TEST(Measure, SquaresThatOverflowAreNoMissingNumbers) {
  const std::vector<double> values(40, 1e200);
  float mean = 0;
  const Measured measured = measure(DType::Fp64, values.data(), 1, 40, 1, 1, &mean);
  EXPECT_EQ(measured.not_finite, 0);
  EXPECT_EQ(measured.max, 1e200);
}

// Floats are squared as floats, where these squares have no place.
TEST(Measure, SquaresNoFloatCanHoldAreNotLost) {
  for (const float value : {3e-30f, 1e-21f, 1e25f}) {
    std::vector<float> values(5000, 0.0f);
    for (size_t i = 0; i < values.size(); i += 2) values[i] = value;
    float mean = 0;
    const Measured measured = measure(DType::Fp32, values.data(), 50, 100, 1, 1, &mean);
    const double wide = static_cast<double>(value);
    EXPECT_NEAR(measured.squares / (2500 * wide * wide), 1, 1e-12) << value;
    EXPECT_NEAR(measured.sum / (2500 * wide), 1, 1e-6) << value;
    EXPECT_EQ(measured.max, wide) << value;
    EXPECT_EQ(measured.not_finite, 0) << value;
  }
}

// Few numbers are summed as floats before a double takes them over: the sum stays at a float's rounding.
TEST(Measure, ManyFloatsAddUp) {
  const std::vector<float> values(size_t{1} << 22, 0.1f);
  std::vector<float> means(64 * 64);
  const Measured measured = measure(DType::Fp32, values.data(), 4096, 1024, 64, 64, means.data());
  const double count = static_cast<double>(values.size()), value = static_cast<double>(0.1f);
  EXPECT_NEAR(measured.sum / (count * value), 1, 1e-6);
  EXPECT_NEAR(measured.squares / (count * value * value), 1, 1e-6);
  for (const float mean : means) ASSERT_NEAR(mean, 0.1f, 1e-7f);
}

// However its rows lie: some ways of looking at them take one look, others two, or more than a group.
TEST(Measure, TheHashIsOfTheBytesAlone) {
  const std::vector<float> values = numbers<float>(300 * 192);
  const auto count = static_cast<int64_t>(values.size());
  std::set<uint64_t> hashes;
  for (const int64_t cols : {1, 25, 64, 96, 192, 576, 960, 1920, 9600, 19200, 28800, 57600}) {
    std::vector<float> means(64 * 64);
    const int64_t rows = count / cols;
    hashes.insert(measure(DType::Fp32, values.data(), rows, cols,
                          static_cast<int>(std::min<int64_t>(rows, 64)),
                          static_cast<int>(std::min<int64_t>(cols, 64)), means.data())
                      .hash);
  }
  float mean = 0;
  hashes.insert(measure(DType::Int32, values.data(), 300, 192, 1, 1, &mean).hash);
  EXPECT_EQ(hashes.size(), 1u);
}

TEST(Measure, EveryBitChangesTheHash) {
  for (const int64_t count : {int64_t{3}, int64_t{63}, int64_t{64}, int64_t{65}, int64_t{5000}}) {
    std::vector<int32_t> values(static_cast<size_t>(count), 0);
    const auto hash_of = [&](int64_t taken) {
      float mean = 0;
      return measure(DType::Int32, values.data(), 1, taken, 1, 1, &mean).hash;
    };
    std::set<uint64_t> hashes{hash_of(count), hash_of(count - 1)};
    EXPECT_EQ(hashes.size(), 2u);  // of zeros alone: the length counts
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = 1 << (i % 31);
      EXPECT_TRUE(hashes.insert(hash_of(count)).second) << i << " of " << count;
      values[i] = 0;
    }
    EXPECT_EQ(hashes.count(hash_of(count)), 1u);
  }
}

}  // namespace measure_test
}  // namespace shardlens
