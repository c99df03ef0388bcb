// A picture's cells in 16 bits: how precisely any value is restored.
#include "engine/device/cells.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace shardlens {
namespace cells_test {

std::vector<float> there_and_back(const std::vector<float>& cells, int* exponent = nullptr) {
  std::vector<uint16_t> halves(cells.size());
  const auto count = static_cast<int64_t>(cells.size());
  const int e = narrow_cells(cells.data(), count, halves.data());
  EXPECT_GE(e, kLeastCellExponent);
  EXPECT_LE(e, kGreatestCellExponent);
  if (exponent) *exponent = e;
  std::vector<float> back(cells.size());
  widen_cells(halves.data(), count, e, back.data());
  return back;
}

TEST(Cells, ComeBackWithinTheirBoundsAtAnyScale) {
  std::mt19937 draw(7);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> spread(-60, 0);
  for (int scale = -120; scale <= 120; scale += 10) {
    std::vector<float> cells(1003);  // no whole number of vectors
    for (float& cell : cells) cell = std::ldexp(normal(draw), scale + spread(draw) / 2);
    float largest = 0;
    for (const float cell : cells) largest = std::max(largest, std::abs(cell));
    const std::vector<float> back = there_and_back(cells);
    for (size_t i = 0; i < cells.size(); ++i)
      ASSERT_NEAR(back[i], cells[i],
                  std::max({std::abs(cells[i]) * 0x1p-11f, largest * 0x1p-39f,
                            std::numeric_limits<float>::denorm_min()}))
          << i << " at 2^" << scale;
    EXPECT_EQ(there_and_back(back), back) << "what was rounded once stays";
  }
}

TEST(Cells, ZerosAndTheEndsOfTheRangeStay) {
  EXPECT_EQ(there_and_back({0, 0, 0}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(there_and_back({}), std::vector<float>{});
  int exponent = 0;
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(there_and_back({kLeast, -kLeast}, &exponent), (std::vector<float>{kLeast, -kLeast}));
  EXPECT_EQ(exponent, kLeastCellExponent);
  constexpr float kMost = std::numeric_limits<float>::max();
  const float most = there_and_back({kMost * 0.999f, -1.0f}, &exponent)[0];
  EXPECT_NEAR(most / kMost, 0.999f, 0x1p-11f);
  EXPECT_EQ(exponent, kGreatestCellExponent);
}

TEST(Cells, WhatIsNoNumberIsKeptAndMeasuresNothing) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> back =
      there_and_back({std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 3.0f});
  EXPECT_TRUE(std::isnan(back[0]));
  EXPECT_EQ(back[1], kInfinity);
  EXPECT_EQ(back[2], -kInfinity);
  EXPECT_EQ(back[3], 3.0f);
}

}  // namespace cells_test
}  // namespace shardlens
