// The full tensor from the ranks' pictures, compared with tensors so small that every cell of a picture is
// one element.
#include "ui/widgets/whole_picture.h"

#include <gtest/gtest.h>

namespace shardlens::ui {
namespace whole_picture_test {

Tensor tensor_of(Shape shape, int row_dims, Layout layout) {
  Tensor tensor;
  tensor.id = 0;
  tensor.name = tensor.value = "test";
  tensor.shape = std::move(shape);
  tensor.row_dims = row_dims;
  tensor.layout = layout;
  return tensor;
}

/// Samples whose every element is its index in the full matrix (row-major), times `factor`.
RankSamples numbered(const Tensor& tensor, int ranks, float factor = 1) {
  const MatrixShape full = matrix_shape(tensor);
  RankSamples samples;
  for (int rank = 0; rank < ranks; ++rank) {
    auto sample = std::make_shared<TensorSample>();
    sample->matrix = local_matrix_shape(tensor, ranks, rank);
    Picture& picture = sample->picture;
    picture.rows = static_cast<int>(sample->matrix.rows);
    picture.cols = static_cast<int>(sample->matrix.cols);
    picture.values.assign(static_cast<size_t>(picture.rows) * static_cast<size_t>(picture.cols), -1.0f);
    for (const Placement& piece : placements(tensor, ranks, rank)) {
      for (int64_t row = 0; row < piece.rows.size(); ++row) {
        for (int64_t col = 0; col < piece.cols.size(); ++col) {
          const int64_t at = (piece.local_rows.begin + row) * picture.cols + piece.local_cols.begin + col;
          const int64_t index = (piece.rows.begin + row) * full.cols + piece.cols.begin + col;
          picture.values[static_cast<size_t>(at)] = factor * static_cast<float>(index);
        }
      }
    }
    samples.push_back(sample);
  }
  return samples;
}

void expect_numbered(const Picture& picture, MatrixShape full) {
  ASSERT_EQ(picture.rows, full.rows);
  ASSERT_EQ(picture.cols, full.cols);
  for (size_t i = 0; i < picture.values.size(); ++i) ASSERT_EQ(picture.values[i], static_cast<float>(i)) << i;
}

TEST(WholePicture, SlicesAreJoinedAlsoWhenUneven) {
  for (const Layout layout : {sharded(0), sharded(1)}) {
    for (const int ranks : {1, 2, 3, 4, 7}) {
      const Tensor tensor = tensor_of({10, 8}, 1, layout);
      expect_numbered(whole_picture(tensor, numbered(tensor, ranks)), {10, 8});
    }
  }
}

TEST(WholePicture, FusedQkvLiesAtItsThreePlaces) {
  const Tensor tensor = tensor_of({5, 3, 4, 2}, 1, sharded(2));
  expect_numbered(whole_picture(tensor, numbered(tensor, 2)), {5, 24});
}

TEST(WholePicture, PartialSumsAreAdded) {
  const Tensor tensor = tensor_of({6, 6}, 1, kPartial);
  expect_numbered(whole_picture(tensor, numbered(tensor, 4, 0.25f)), {6, 6});
}

TEST(WholePicture, AReplicatedTensorNeedsOnlyOneRank) {
  const Tensor tensor = tensor_of({6, 6}, 1, kReplicated);
  RankSamples samples = numbered(tensor, 3);
  samples[1] = samples[2] = nullptr;
  expect_numbered(whole_picture(tensor, samples), {6, 6});
}

TEST(WholePicture, IsEmptyWhileARankIsMissing) {
  const Tensor tensor = tensor_of({6, 6}, 1, sharded(1));
  RankSamples samples = numbered(tensor, 3);
  samples[1] = nullptr;
  EXPECT_TRUE(whole_picture(tensor, samples).values.empty());
  EXPECT_TRUE(whole_picture(tensor, {}).values.empty());
}

TEST(WholePicture, IsNeverLargerThanAPicture) {
  const Tensor tensor = tensor_of({1000, 300}, 1, sharded(1));
  const Picture whole = whole_picture(tensor, numbered(tensor, 4));
  EXPECT_EQ(whole.rows, kPictureExtent);
  EXPECT_EQ(whole.cols, kPictureExtent);
  EXPECT_NEAR(whole.values.back(), 299'999, 2 * 300 + 2);
}

}  // namespace whole_picture_test
}  // namespace shardlens::ui
