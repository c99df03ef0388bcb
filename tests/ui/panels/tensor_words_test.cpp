// The Inspector's text about a tensor.
#include "ui/panels/tensor_words.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/config/splits.h"
#include "engine/planner/planner.h"

namespace shardlens::ui {
namespace tensor_words_test {

Tensor tensor_of(Shape shape, int row_dims, Layout layout) {
  Tensor tensor;
  tensor.id = 0;
  tensor.name = "mlp.proj.out";
  tensor.shape = std::move(shape);
  tensor.row_dims = row_dims;
  tensor.layout = layout;
  return tensor;
}

TEST(TensorWords, PartialSaysThatItIsWrong) {
  const Tensor tensor = tensor_of({1024, 768}, 1, kPartial);
  EXPECT_EQ(layout_title(tensor, 4), "Partial");
  EXPECT_EQ(layout_sentence(tensor, 4), "Full shape, and wrong until summed over 4 ranks.");
  EXPECT_EQ(held_range(tensor, 4, 0), "");
}

TEST(TensorWords, ShardedSaysWhoHoldsWhat) {
  const Tensor tensor = tensor_of({1024, 3072}, 1, sharded(1));
  EXPECT_EQ(layout_title(tensor, 4), "Sharded(1): columns");
  EXPECT_EQ(layout_sentence(tensor, 4), "Each rank holds 768 of the 3072 columns.");
  EXPECT_EQ(held_range(tensor, 4, 1), "columns 768 … 1535");
}

TEST(TensorWords, UnevenSlicesAreSaidPerRank) {
  const Tensor tensor = tensor_of({10, 4}, 1, sharded(0));
  EXPECT_EQ(layout_sentence(tensor, 4), "Each rank holds 2 to 3 of the 10 rows.");
  const std::vector<ShapeLine> lines = shape_lines(tensor, 4);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].who, "ranks 0 to 1");
  EXPECT_EQ(lines[0].shape, (Shape{3, 4}));
  EXPECT_EQ(lines[1].who, "ranks 2 to 3");
  EXPECT_EQ(lines[1].bytes, 2 * 4 * 4);
}

TEST(TensorWords, AFusedMatrixIsCutBetweenHeads) {
  const Tensor tensor = tensor_of({1024, 3, 12, 64}, 1, sharded(2));
  EXPECT_EQ(layout_sentence(tensor, 4), "Each rank holds 3 of the 12 heads.");
  EXPECT_EQ(held_range(tensor, 4, 3), "heads 9 … 11");
}

TEST(TensorWords, OneRankHoldsTheWhole) {
  const Tensor tensor = tensor_of({8, 8}, 1, sharded(1));
  EXPECT_EQ(layout_title(tensor, 1), "Whole");
  EXPECT_EQ(shape_lines(tensor, 1).front().who, "rank 0");
}

TEST(TensorWords, OneOfSeveralOutputsIsNamed) {
  Settings settings;
  settings.tp = 2;
  settings.split = named_split("megatron-sp");
  const Program program = plan_program(settings);
  const auto bucket = std::find_if(program.steps.begin(), program.steps.end(),
                                   [](const Step& step) { return step.op == Op::AllReduce; });
  ASSERT_NE(bucket, program.steps.end());
  const Tensor& second = program.tensor(bucket->outputs[1]);
  EXPECT_EQ(describe(program, second).find(second.name + ": output of all-reduce gradients"), 0u);
}

TEST(TensorWords, ReplicatedHasOneShape) {
  const std::vector<ShapeLine> lines = shape_lines(tensor_of({8, 8}, 1, kReplicated), 12);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].who, "every rank");
}

TEST(TensorWords, WhatIsAPictureOnlySaysWhy) {
  const std::string of_all = "Exact values are kept of 3 of 5 tensors, the smallest first.";
  const std::vector<float> values(static_cast<size_t>(kExactElements) + 1024, 1.0f);
  const Tensor small = tensor_of({1024, 8}, 1, kReplicated);
  EXPECT_EQ(picture_only_words(make_sample(small, 2, 0, values.data()), of_all), "");
  const Tensor large = tensor_of({1025, 1024}, 1, kReplicated);
  EXPECT_EQ(
      picture_only_words(make_sample(large, 2, 0, values.data()), of_all),
      "Picture only: exact values were not kept because a rank's piece has 1,049,600 elements, and they "
      "are kept only for pieces of up to 1,048,576. " +
          of_all);
  const SampleDetail none{256, 0};
  EXPECT_EQ(picture_only_words(make_sample(small, 2, 0, values.data(), none), of_all),
            "Picture only: exact values were not kept because those of smaller tensors fill the 512 MiB "
            "reserved for a run. " +
                of_all);
}

}  // namespace tensor_words_test
}  // namespace shardlens::ui
