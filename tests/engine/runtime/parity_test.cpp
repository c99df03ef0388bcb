// A sharded layer equals the serial one. Each known mistake that a layer can have is found and named.
#include "engine/runtime/parity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/program/fault.h"
#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace parity_test {

using testing::compare;
using testing::Outcome;
using testing::small_bert_layer;
using testing::small_layer;

struct Case {
  int tp;
  const char* split;
};

class ParityOfSplits : public ::testing::TestWithParam<Case> {};

TEST_P(ParityOfSplits, HoldsInBothPrecisionsAndExactlyForIntegers) {
  for (const auto& layer : {small_layer, small_bert_layer}) {
    for (const DType dtype : {DType::Fp32, DType::Fp64}) {
      for (const Operands operands : {Operands::Normal, Operands::Integer}) {
        Settings settings = layer(GetParam().tp, GetParam().split);
        settings.dtype = dtype;
        settings.operands = operands;
        const Outcome outcome = compare(settings);
        EXPECT_TRUE(outcome.summary.agrees)
            << settings.model.name << " " << to_string(dtype) << ": " << outcome.first_broken() << " "
            << outcome.summary.worst_relative_error;
        for (const Tensor& tensor : outcome.program.tensors) {
          if (tensor.kind == MemoryKind::Workspace) continue;
          ASSERT_NE(outcome.parity[static_cast<size_t>(tensor.id)], nullptr)
              << tensor.name << " was not compared";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllDegreesAndSplits, ParityOfSplits,
                         ::testing::Values(Case{1, "megatron"}, Case{2, "megatron"}, Case{3, "megatron"},
                                           Case{4, "megatron"}, Case{6, "megatron"}, Case{12, "megatron"},
                                           Case{2, "reversed"}, Case{3, "reversed"}, Case{4, "reversed"},
                                           Case{6, "reversed"}, Case{12, "reversed"}, Case{2, "replicated"},
                                           Case{3, "replicated"}, Case{12, "replicated"}, Case{3, "row-row"},
                                           Case{3, "column-column"}),
                         [](const auto& param) {
                           std::string name = param.param.split;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_T" + std::to_string(param.param.tp);
                         });

TEST(Parity, BlocksAloneHoldToo) {
  for (const Block block : {Block::Mlp, Block::Attention}) {
    Settings settings = small_layer(4, "reversed");
    settings.block = block;
    EXPECT_TRUE(compare(settings).summary.agrees) << to_string(block);
  }
}

TEST(Parity, UnevenSlicesHold) {
  // The MLP alone has no heads: 96 and 384 over 5 ranks leave slices of 20 and 19, 77 and 76.
  for (const char* split : {"megatron", "reversed"}) {
    Settings settings = small_layer(5, split);
    settings.block = Block::Mlp;
    EXPECT_TRUE(compare(settings).summary.agrees) << split;
  }
}

struct FaultCase {
  Fault fault;
  const char* tensor;  // where parity must see it first
};

class PlantedFault : public ::testing::TestWithParam<FaultCase> {};

TEST_P(PlantedFault, IsFoundWhereItBegins) {
  for (const Operands operands : {Operands::Normal, Operands::Integer}) {
    Settings settings = small_layer(3);
    settings.operands = operands;
    const Outcome outcome = compare(settings, plant(plan_program(settings), GetParam().fault));
    EXPECT_FALSE(outcome.summary.agrees);
    EXPECT_EQ(outcome.first_broken().substr(0, std::string(GetParam().tensor).size()), GetParam().tensor);
  }
}

INSTANTIATE_TEST_SUITE_P(KnownTraps, PlantedFault,
                         ::testing::Values(FaultCase{Fault::BiasBeforeReduction, "attn.proj.out"},
                                           FaultCase{Fault::SkipF, "grad.ln2.out"},
                                           FaultCase{Fault::SkipG, "attn.proj.sum"},
                                           FaultCase{Fault::QkvAcrossHeads, "attn.qkv.out"},
                                           FaultCase{Fault::ReduceCopy, "attn.proj.out"}),
                         [](const auto& param) {
                           std::string name = to_string(param.param.fault);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Parity, FaultsOfOtherSplitsAreFoundWhereTheyBegin) {
  for (const DType dtype : {DType::Fp32, DType::Fp64}) {
    Settings reversed = small_layer(3, "reversed");
    reversed.dtype = dtype;
    const Outcome bent = compare(reversed, plant(plan_program(reversed), Fault::GeluOnPartial));
    EXPECT_EQ(bent.first_broken(), "mlp.fc.out") << "one layer's biases are not 0, and count T times";
    Settings cut = small_layer(3);
    cut.dtype = dtype;
    cut.split.norm = NormCut::Parallel;
    EXPECT_TRUE(compare(cut).summary.agrees);
    const Outcome local = compare(cut, plant(plan_program(cut), Fault::LocalStatistics));
    EXPECT_EQ(local.first_broken(), "ln1.out");
    // A third of a row has nearly the row's own statistics; a third of its sums would be far from them.
    EXPECT_LT(local.of("ln1.out")->relative_error, 0.35);
    EXPECT_GT(local.of("ln1.out")->relative_error, 0.05);
  }
}

TEST(Parity, SkippingFLeavesTheForwardPassRight) {
  const Settings settings = small_layer(2);
  const Outcome outcome = compare(settings, plant(plan_program(settings), Fault::SkipF));
  for (const Step& step : outcome.program.steps) {
    if (step.phase != Phase::Forward) break;
    for (TensorId id : step.outputs) {
      const auto& parity = outcome.parity[static_cast<size_t>(id)];
      EXPECT_TRUE(parity == nullptr || parity->within_bound()) << outcome.program.tensor(id).name;
    }
  }
}

TEST(Parity, ReplicatedTensorsThatDifferBetweenRanksAreFound) {
  const Settings settings = small_layer(2);
  const Outcome outcome = compare(settings, plant(plan_program(settings), Fault::SkipG));
  const auto& parity = outcome.parity[static_cast<size_t>(outcome.summary.first_broken)];
  EXPECT_FALSE(parity->ranks_identical);
}

TEST(Parity, AFaultWithoutAnOpportunityIsRefused) {
  EXPECT_THROW(plant(plan_program(small_layer(1)), Fault::SkipF), Error);
  for (const Step& step : plant(plan_program(small_layer(2)), Fault::SkipF).steps)
    EXPECT_FALSE(step.op == Op::Identity && step.overlapped) << step.name << " is no collective";
  EXPECT_THROW(plant(plan_program(small_layer(4, "replicated")), Fault::SkipG), Error);
}

TEST(Parity, FaultNamesReadBack) {
  for (Fault fault : all_faults()) EXPECT_EQ(parse_fault(to_string(fault)), fault);
  EXPECT_THROW(parse_fault("typo"), Error);
}

TEST(Parity, DifferencePicturesCoverTheFullTensor) {
  const Settings settings = small_layer(2);
  const Outcome outcome = compare(settings, plant(plan_program(settings), Fault::QkvAcrossHeads), true);
  const auto& parity = outcome.parity[static_cast<size_t>(outcome.summary.first_broken)];
  EXPECT_EQ(parity->difference.rows, 48);
  EXPECT_EQ(parity->difference.cols, 256);
  EXPECT_GT(*std::max_element(parity->difference.values.begin(), parity->difference.values.end()), 0.0f);
}

}  // namespace parity_test
}  // namespace shardlens
