// Every way to cut a model: the planner finds the collectives of each combination, and each agrees with the
// serial run in fp64.
#include <gtest/gtest.h>

#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace every_split_test {

using testing::compare;
using testing::Outcome;

constexpr Cut kCuts[] = {Cut::Column, Cut::Row, Cut::Replicated};

std::string words(const Split& split) {
  return to_string(split.attn_qkv) + ", " + to_string(split.attn_proj) + ", " + to_string(split.mlp_fc) +
         ", " + to_string(split.mlp_proj) + ", embedding " + to_string(split.embedding) + ", norm " +
         to_string(split.norm) + ", loss " + to_string(split.loss);
}

Settings tiny(const Split& split, int tp, Objective objective) {
  Settings settings = objective == Objective::NextToken ? testing::small_model(tp) : testing::small_bert(tp);
  settings.split = split;
  settings.dtype = DType::Fp64;
  settings.model.layers = 1;
  settings.model.hidden = 20;
  settings.model.ffn = 28;
  settings.batch = 2;
  settings.seq = 5;
  return settings;
}

using Stream = std::tuple<NormCut, EmbeddingCut, LossForm>;

class EverySplit : public ::testing::TestWithParam<Stream> {};

// 81 cuts of the four matrices for each of the 18 parameters; T takes turns, and so do the families.
TEST_P(EverySplit, AgreesWithSerialAndWithItsPlan) {
  Split split;
  split.name = "any";
  std::tie(split.norm, split.embedding, split.loss) = GetParam();
  int number = 0;
  for (const Cut qkv : kCuts) {
    for (const Cut proj : kCuts) {
      for (const Cut fc : kCuts) {
        for (const Cut out : kCuts) {
          split.attn_qkv = qkv;
          split.attn_proj = proj;
          split.mlp_fc = fc;
          split.mlp_proj = out;
          const int tp = 2 + number % 3;
          const Objective family = number % 2 == 0 ? Objective::NextToken : Objective::MaskedWords;
          ++number;
          const Outcome outcome = compare(tiny(split, tp, family));
          ASSERT_TRUE(outcome.summary.agrees)
              << words(split) << ", " << to_string(family) << ", T " << tp << ": " << outcome.first_broken()
              << " " << outcome.summary.worst_relative_error;
          ASSERT_EQ(outcome.miscounted, "") << words(split) << ", " << to_string(family) << ", T " << tp;
          ASSERT_NE(outcome.of("loss"), nullptr);
          for (const Tensor& tensor : outcome.program.tensors) {
            if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
            ASSERT_NE(outcome.of("grad." + tensor.name), nullptr) << words(split) << ": " << tensor.name;
          }
        }
      }
    }
  }
  EXPECT_EQ(number, 81);
}

INSTANTIATE_TEST_SUITE_P(
    OfTheStream, EverySplit,
    ::testing::Combine(::testing::Values(NormCut::Replicated, NormCut::Parallel, NormCut::Sequence),
                       ::testing::Values(EmbeddingCut::Vocab, EmbeddingCut::Hidden, EmbeddingCut::Replicated),
                       ::testing::Values(LossForm::Fused, LossForm::Gather)),
    [](const auto& param) {
      return to_string(std::get<0>(param.param)) + "_" + to_string(std::get<1>(param.param)) + "_" +
             to_string(std::get<2>(param.param));
    });

// Sequence parallelism moves the bytes of an all-reduce as a reduce-scatter and an all-gather, and holds 1/T
// of what the norms, dropouts and sums work on.
TEST(SequenceParallelism, ReplacesEveryAllReduceOfALayer) {
  Settings settings = testing::small_layer(4, "megatron-sp");
  const Program program = plan_program(settings);
  int scatters = 0, gathers = 0, reduces = 0;
  for (const Step& step : program.steps) {
    if (step.part == Part::Gradients)
      continue;  // of γ, β and the biases after a sum: each rank saw its own tokens
    scatters += step.op == Op::ReduceScatter;
    gathers += step.op == Op::AllGather;
    reduces += step.op == Op::AllReduce;
  }
  EXPECT_EQ(reduces, 0);
  EXPECT_EQ(scatters, 4);  // the sums of the two row cuts, and the input gradients of the two column cuts
  // Their conjugates, and X for the weight gradients of the two column cuts, which is not kept whole.
  EXPECT_EQ(gathers, 6);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.name == "attn.residual" || tensor.name == "ln1.out" || tensor.name == "Y") {
      EXPECT_EQ(tensor.layout, sharded(0)) << tensor.name;
    }
  }
}

TEST(ParallelNorm, GathersTwoNumbersATokenAndReducesTwoForTheGradient) {
  Split split = named_split("megatron");
  split.norm = NormCut::Parallel;
  Settings settings = testing::small_layer(4);
  settings.split = split;
  const Program program = plan_program(settings);
  int gathers = 0, reduces = 0;
  for (const Step& step : program.steps) {
    const bool of_norms = step.part == Part::Norm;
    if (step.op == Op::AllReduce) {
      EXPECT_EQ(program.tensor(step.outputs[0]).shape, (Shape{settings.tokens(), 2})) << step.name;
      ++reduces;
    } else if (step.op == Op::AllGather && of_norms) {
      EXPECT_EQ(local_bytes(program.tensor(step.inputs[0]), settings.tp, 0), settings.tokens() * 2 * 4);
      ++gathers;
    }
  }
  EXPECT_EQ(gathers, 2);  // two norms
  EXPECT_EQ(reduces, 2);
}

}  // namespace every_split_test
}  // namespace shardlens
