// The formula that decides in how many parts a weight gradient's sum is cut, for GPUs of any size. It is
// arithmetic, so it is tested without a GPU.
#include "engine/device/cuda/waves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace shardlens::cuda {
namespace cuda_waves_test {

constexpr int64_t kTokens = 8192, kHidden = 1536;
constexpr int kMostParts = 8;

/// A weight gradient of megatron-1.2b at 8,192 tokens.
TiledProduct weight_gradient(int64_t cols, int64_t multiprocessors) {
  return {kHidden, cols, kTokens, multiprocessors};
}

/// One to kMostParts parts of the same tile.
std::vector<std::optional<ProductCut>> cuts_of(int64_t tile_rows, int64_t tile_cols) {
  std::vector<std::optional<ProductCut>> cuts;
  for (int parts = 1; parts <= kMostParts; ++parts) cuts.push_back(ProductCut{tile_rows, tile_cols, parts});
  return cuts;
}

// By giving every tile to the multiprocessor that has had the fewest.
int64_t most_tiles_of_one(const TiledProduct& product, const ProductCut& cut) {
  std::vector<int64_t> tiles(static_cast<size_t>(product.multiprocessors), 0);
  for (int64_t part = 0; part < cut.parts; ++part)
    for (int64_t row = 0; row < product.rows; row += cut.tile_rows)
      for (int64_t col = 0; col < product.cols; col += cut.tile_cols) ++*std::ranges::min_element(tiles);
  return *std::ranges::max_element(tiles);
}

TEST(CudaWaves, AreThoseOfTheBusiestMultiprocessor) {
  for (const int64_t multiprocessors : {1, 2, 7, 46, 84, 108, 114, 132, 144, 160, 1000})
    for (const int64_t cols : {1536, 4608, 6144, 1000})
      for (const ProductCut cut :
           {ProductCut{128, 256, 1}, ProductCut{128, 256, 3}, ProductCut{192, 128, 2}}) {
        const TiledProduct product = weight_gradient(cols, multiprocessors);
        EXPECT_EQ(product.waves(cut), most_tiles_of_one(product, cut));
      }
}

// 72 tiles on 132 multiprocessors leave nearly half of them idle; three parts fill two waves with 216.
TEST(CudaWaves, ASmallWeightGradientIsCutInParts) {
  const TiledProduct product = weight_gradient(kHidden, 132);
  EXPECT_EQ(product.tiles({128, 256, 1}), 72);
  EXPECT_EQ(product.tiles({128, 256, 3}), 216);
  EXPECT_EQ(product.waves({128, 256, 3}), 2);
  EXPECT_EQ(product.choice(cuts_of(128, 256)), 2);
}

// Where the last wave is nearly full, or the sums of the parts would cost more than it gains.
TEST(CudaWaves, AWholeOneIsNot) {
  EXPECT_EQ(weight_gradient(3 * kHidden, 108).waves({128, 256, 1}), 2);
  EXPECT_EQ(weight_gradient(3 * kHidden, 108).choice(cuts_of(128, 256)), 0)
      << "216 tiles are two waves of 108";
  EXPECT_EQ(weight_gradient(kHidden, 72).choice(cuts_of(128, 256)), 0) << "72 tiles are a wave of 72";
  EXPECT_EQ(weight_gradient(4 * kHidden, 132).choice(cuts_of(128, 256)), 0) << "288 tiles, and wide sums";
  EXPECT_EQ((TiledProduct{kHidden, kHidden, 256, 132}.choice(cuts_of(128, 256))), 0) << "a short sum";
}

// On a GPU of any size: a choice is never predicted to be slower than the first, and parts are only taken for
// fewer idle multiprocessors.
TEST(CudaWaves, PartsAreTakenForAFullerLastWaveAlone) {
  int cut_in_parts = 0;
  for (int64_t multiprocessors = 1; multiprocessors <= 264; ++multiprocessors)
    for (const int64_t cols : {kHidden, 3 * kHidden, 4 * kHidden}) {
      const TiledProduct product = weight_gradient(cols, multiprocessors);
      const auto cuts = cuts_of(128, 256);
      const size_t chosen = product.choice(cuts);
      if (chosen == 0) continue;
      ++cut_in_parts;
      const auto busy = [&](const ProductCut& cut) {
        return static_cast<double>(product.tiles(cut)) /
               static_cast<double>(product.waves(cut) * multiprocessors);
      };
      EXPECT_LT(product.predicted(*cuts[chosen]), product.predicted(*cuts[0]));
      EXPECT_GT(busy(*cuts[chosen]), busy(*cuts[0]));
    }
  EXPECT_GT(cut_in_parts, 0);
  EXPECT_EQ(weight_gradient(kHidden, 1).choice(cuts_of(128, 256)), 0) << "one multiprocessor is never idle";
}

// Small tiles fill the last wave, but load more for each multiplication.
TEST(CudaWaves, SmallTilesAreNotTakenForTheLastWave) {
  const TiledProduct product = weight_gradient(3 * kHidden, 132);
  EXPECT_EQ(product.choice({ProductCut{128, 256, 1}, ProductCut{64, 64, 1}, ProductCut{64, 32, 1}}), 0);
}

TEST(CudaWaves, WhatIsNotKnownIsNotTaken) {
  const TiledProduct product = weight_gradient(kHidden, 132);
  const ProductCut whole{128, 256, 1}, third{128, 256, 3};
  EXPECT_EQ(product.choice({}), 0);
  EXPECT_EQ(product.choice({std::nullopt, third}), 0) << "what the first one takes is not known";
  EXPECT_EQ(product.choice({whole, std::nullopt, third}), 2);
}

}  // namespace cuda_waves_test
}  // namespace shardlens::cuda
