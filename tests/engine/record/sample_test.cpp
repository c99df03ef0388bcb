// A tensor's statistics, picture and exact values, also for values that are not finite and for empty shards.
#include "engine/record/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shardlens {
namespace sample_test {

Tensor matrix(int64_t rows, int64_t cols, DType dtype = DType::Fp32) {
  Tensor tensor;
  tensor.name = "t";
  tensor.shape = {rows, cols};
  tensor.dtype = dtype;
  return tensor;
}

TEST(Sample, StatisticsOfAKnownTensor) {
  const std::vector<float> values = {-3, 1, 2, 4, 0, 2};
  const TensorSample sample = make_sample(matrix(2, 3), 1, 0, values.data());
  EXPECT_EQ(sample.stats.min, -3);
  EXPECT_EQ(sample.stats.max, 4);
  EXPECT_DOUBLE_EQ(sample.stats.mean, 1.0);
  EXPECT_DOUBLE_EQ(sample.stats.rms, std::sqrt(34.0 / 6.0));
  EXPECT_EQ(sample.stats.nan_count, 0);
  EXPECT_EQ(sample.value(1, 0), 4);
}

TEST(Sample, PicturesAreBlockMeansOfAtMost256Cells) {
  std::vector<float> values(static_cast<size_t>(1024 * 512));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i / 512 / 4);  // each 4-row block one value
  const TensorSample sample = make_sample(matrix(1024, 512), 1, 0, values.data());
  EXPECT_EQ(sample.picture.rows, 256);
  EXPECT_EQ(sample.picture.cols, 256);
  for (int r : {0, 7, 255})
    EXPECT_EQ(sample.picture.values[static_cast<size_t>(r * 256 + 9)], static_cast<float>(r));
  EXPECT_TRUE(sample.has_exact());
}

TEST(Sample, APicturesExtentIsThatOfItsFiniteCells) {
  std::vector<float> values(static_cast<size_t>(5 * 7), 0.5f);  // whole groups of lanes, and a rest
  values[3] = std::numeric_limits<float>::quiet_NaN();
  values[19] = std::numeric_limits<float>::infinity();
  values[34] = -12;
  const PictureExtent extent = make_sample(matrix(5, 7), 1, 0, values.data()).picture.extent;
  EXPECT_EQ(extent.largest, 12);
  EXPECT_EQ(extent.squares, 32 * 0.25 + 144);
  EXPECT_EQ(extent.finite, 33);
  const PictureExtent cells = make_picture(matrix(5, 7), 1, 0, values.data(), 1, 7).extent;
  EXPECT_EQ(cells.largest, std::abs((4 * 0.5 - 12) / 5));
}

TEST(Sample, ExactValuesUpToAMebiElement) {
  std::vector<float> values(static_cast<size_t>(kExactElements) + 1024, 1.0f);
  EXPECT_TRUE(make_sample(matrix(1024, 1024), 1, 0, values.data()).has_exact());
  EXPECT_FALSE(make_sample(matrix(1025, 1024), 1, 0, values.data()).has_exact());
}

TEST(Sample, ValuesThatAreNotFiniteAreCountedAndLeftOut) {
  const std::vector<double> values = {1, std::numeric_limits<double>::quiet_NaN(), 3,
                                      std::numeric_limits<double>::infinity()};
  const TensorSample sample = make_sample(matrix(2, 2, DType::Fp64), 1, 0, values.data());
  EXPECT_EQ(sample.stats.nan_count, 2);
  EXPECT_EQ(sample.stats.mean, 2);
  EXPECT_EQ(sample.value(1, 0), 3);
}

TEST(Sample, AnEmptyShardHasNoPicture) {
  Tensor tensor = matrix(4, 2);
  tensor.layout = sharded(1);
  const TensorSample sample = make_sample(tensor, 3, 2, nullptr);  // two columns over three ranks
  EXPECT_EQ(sample.shape, (Shape{4, 0}));
  EXPECT_TRUE(sample.picture.values.empty());
}

}  // namespace sample_test
}  // namespace shardlens
