// The copies that matrix units read: every number is at its place, the padding is zero, and nothing else is
// read or written.
#include "engine/device/cpu/x86/bf16_pairs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace shardlens::cpu {
namespace bf16_pairs_test {

struct Sizes {
  int64_t rows, cols;
};
// Whole tiles, ends within one, and a single number.
constexpr Sizes kSizes[] = {{64, 128}, {33, 65}, {31, 100}, {96, 17}, {1, 1}, {70, 384}};

class Bf16Pairs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!__builtin_cpu_supports("avx512bw")) GTEST_SKIP() << "skipped: no AVX-512 here";
  }
  static uint16_t bits(Bf16 number) {
    uint16_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
  }
  /// Every element another one, in an allocation that ends with the last.
  static std::vector<Bf16> numbers(int64_t rows, int64_t stride, int64_t cols) {
    std::vector<Bf16> all(static_cast<size_t>((rows - 1) * stride + cols));
    for (size_t i = 0; i < all.size(); ++i) {
      const auto bits = static_cast<uint16_t>(i % 30000 + 1);
      std::memcpy(&all[i], &bits, sizeof bits);
    }
    return all;
  }
  static std::vector<Bf16> room(int64_t elements) {
    return std::vector<Bf16>(static_cast<size_t>(elements + kBehind), Bf16(kMark));
  }
  static void expect_untouched_behind(const std::vector<Bf16>& to, int64_t elements) {
    for (int64_t i = elements; i < elements + kBehind; ++i)
      ASSERT_EQ(static_cast<float>(to[static_cast<size_t>(i)]), kMark) << "behind the end";
  }

  static constexpr int64_t kBehind = 64;
  static constexpr float kMark = 77.0f;
};

TEST_F(Bf16Pairs, RowsByTwosInStrips) {
  for (const auto& [k, n] : kSizes)
    for (const bool transposed : {false, true}) {
      const int64_t stride = (transposed ? k : n) + 3;
      const std::vector<Bf16> given = transposed ? numbers(n, stride, k) : numbers(k, stride, n);
      const int64_t terms = filled_up(k, kPairedRows), cols = filled_up(n, kPairedCols);
      std::vector<Bf16> to = room(terms * cols);
      copy_in_pairs({given.data(), stride}, transposed, k, n, to.data());
      for (int64_t row = 0; row < terms; ++row)
        for (int64_t col = 0; col < cols; ++col) {
          const bool is_given = row < k && col < n;
          const int64_t from = transposed ? col * stride + row : row * stride + col;
          const int64_t at = col / kPairedCols * kPairedCols * terms + row / 2 * 2 * kPairedCols +
                             col % kPairedCols * 2 + row % 2;
          ASSERT_EQ(bits(to[static_cast<size_t>(at)]), is_given ? bits(given[static_cast<size_t>(from)]) : 0)
              << k << " x " << n << (transposed ? " transposed" : "") << ", " << row << ", " << col;
        }
      expect_untouched_behind(to, terms * cols);
    }
}

TEST_F(Bf16Pairs, TransposedIntoDenseRows) {
  for (const auto& [k, m] : kSizes) {
    const int64_t stride = m + 3;
    const std::vector<Bf16> given = numbers(k, stride, m);
    const int64_t terms = filled_up(k, kPairedRows), rows = filled_up(m, kPairedRows);
    std::vector<Bf16> to = room(rows * terms);
    copy_transposed({given.data(), stride}, m, k, to.data());
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t term = 0; term < terms; ++term) {
        const bool is_given = row < m && term < k;
        ASSERT_EQ(bits(to[static_cast<size_t>(row * terms + term)]),
                  is_given ? bits(given[static_cast<size_t>(term * stride + row)]) : 0)
            << m << " x " << k << ", " << row << ", " << term;
      }
    expect_untouched_behind(to, rows * terms);
  }
}

}  // namespace bf16_pairs_test
}  // namespace shardlens::cpu
