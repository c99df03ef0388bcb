// A sharded layer equals the serial one. Each known mistake that a layer can have is found and named.
#include "engine/runtime/parity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/program/fault.h"
#include "engine/runtime/tensor_size.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/io/write_npy.h"
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
    EXPECT_EQ(bent.first_broken(), "mlp.gelu") << "the bias is added once, so only GeLU is wrong";
    EXPECT_TRUE(bent.of("mlp.fc.out")->within_bound());
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

// With one key, softmax is 1 whatever the query: the gradients of queries are zero, and what is computed is
// rounding.
TEST(Parity, WhatMustBeZeroIsRelativeToTheTermsThatCancel) {
  for (const DType dtype : {DType::Fp32, DType::Fp64}) {
    for (const Recompute recompute : {Recompute::None, Recompute::Selective}) {
      Settings settings = small_layer(2);
      settings.dtype = dtype;
      settings.recompute = recompute;
      settings.model.kv_heads = 4;
      settings.batch = settings.seq = 1;
      const Outcome outcome = compare(settings);
      EXPECT_TRUE(outcome.summary.agrees) << to_string(dtype) << ": " << outcome.first_broken() << " "
                                          << outcome.summary.worst_relative_error;
      for (const char* zero : {"grad.attn.q.out", "grad.transformer.h.0.attn.c_attn.q.weight",
                               "grad.transformer.h.0.attn.c_attn.q.bias"}) {
        EXPECT_TRUE(outcome.of(zero)->relative_to_terms) << zero;
        EXPECT_EQ(outcome.of(zero)->bound, parity_bound(settings));
      }
      for (const char* ordinary : {"attn.q.out", "grad.attn.context", "grad.attn.kv.out", "grad.X.sum"})
        EXPECT_FALSE(outcome.of(ordinary)->relative_to_terms) << ordinary;
    }
  }
}

TEST(Parity, AWrongTensorIsFoundWhereZeroIsRight) {
  Settings settings = small_layer(1);
  settings.model.kv_heads = 4;
  settings.batch = settings.seq = 1;
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  const auto serial = std::make_shared<SerialReference>();
  testing::run(plan, {serial});
  const auto q = std::find_if(plan->program.tensors.begin(), plan->program.tensors.end(),
                              [](const Tensor& tensor) { return tensor.value == "grad.attn.q.out"; });
  const double size = serial->value("grad.attn.kv.out")->rms;
  // A thousandth of the gradient of keys and values is far from a rounding; a ten-millionth of its terms is
  // none.
  for (const auto& [wrong, is_right] : {std::pair{1e-3, false}, {1e-9, true}}) {
    ParityCheck check(plan->program, serial, false);
    std::vector<float> values(static_cast<size_t>(element_count(q->shape)), static_cast<float>(wrong * size));
    check.on_tensor(0, 0, *q, values.data());
    EXPECT_EQ(check.results()[static_cast<size_t>(q->id)]->within_bound(), is_right) << wrong;
  }
}

// A norm of two elements gives ±1 whatever they are; dropout leaves a few elements of many; two sequences'
// gradients cancel. None of it is an error.
TEST(Parity, SmallSumsThatCancelAreNoErrors) {
  for (const NormCut norm : {NormCut::Replicated, NormCut::Sequence, NormCut::Parallel}) {
    for (const DType dtype : {DType::Fp32, DType::Fp64, DType::Fp16}) {
      for (const double dropout : {0.0, 0.5}) {
        for (uint64_t seed = 1; seed <= 20; ++seed) {
          Settings settings;
          settings.model = {
              .name = "two", .layers = 1, .hidden = 2, .heads = 2, .ffn = 8, .vocab = 17, .positions = 8};
          settings.block = Block::Model;
          settings.split.norm = norm;
          settings.dtype = dtype;
          settings.dropout = dropout;
          settings.seed = seed;
          settings.tp = 2;
          settings.batch = settings.seq = 2;
          settings.threads_per_rank = 1;
          const Outcome outcome = compare(settings);
          ASSERT_TRUE(outcome.summary.agrees)
              << to_string(norm) << " " << to_string(dtype) << ", seed " << seed << ": "
              << outcome.first_broken() << " " << outcome.summary.worst_relative_error;
        }
      }
    }
  }
}

class ParityFarFromZero : public TestFolder {
 protected:
  // A layer whose X are normal numbers around `mean`.
  Settings layer(int tp, NormCut norm, DType dtype, double mean) const {
    Settings settings = small_layer(tp);
    settings.split.norm = norm;
    settings.dtype = dtype;
    std::vector<double> x(static_cast<size_t>(settings.tokens() * settings.model.hidden));
    std::mt19937_64 generator(5);
    std::normal_distribution<double> distribution(mean);
    for (double& value : x) value = distribution(generator);
    settings.input = {InputKind::Npy, path("x.npy")};
    write_npy(settings.input.path, NpyType::Float64, {settings.tokens(), settings.model.hidden}, x.data());
    return settings;
  }
};

// A rounding of the mean shifts a norm's result by `mean` units in the last place, whether tokens are whole
// or cut. Σx²/n - μ² would shift it by mean² of them.
TEST_F(ParityFarFromZero, ANormOfCutTokensIsAsExactAsOneOfWholeTokens) {
  for (const NormCut norm : {NormCut::Replicated, NormCut::Parallel})
    for (const auto& [dtype, unit] : {std::pair{DType::Fp32, 0x1p-24}, {DType::Fp64, 0x1p-53}})
      for (const double mean : {30.0, 1000.0}) {
        const Outcome outcome = compare(layer(3, norm, dtype, mean));
        const std::string where = fmt::format("{} {} {}", to_string(norm), to_string(dtype), mean);
        EXPECT_TRUE(outcome.summary.agrees) << where << ": " << outcome.first_broken();
        ASSERT_NE(outcome.of("ln1.stats"), nullptr) << where;
        EXPECT_LT(outcome.of("ln1.out")->max_abs_error, 16 * mean * unit) << where;
        EXPECT_EQ(outcome.miscounted, "") << where;
      }
}

// What the bound is relative to follows from how far X is from 0, but not without end.
TEST_F(ParityFarFromZero, NoDistanceMakesAWrongValueRight) {
  const Settings settings = layer(1, NormCut::Replicated, DType::Fp32, 1e6);
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  const auto serial = std::make_shared<SerialReference>();
  testing::run(plan, {serial});
  const double bound = parity_bound(settings);
  const auto sizes = tensor_sizes(plan->program, *serial, bound);
  int limited = 0;
  for (const Tensor& tensor : plan->program.tensors) {
    const auto found = sizes.find(tensor.value);
    if (tensor.kind != MemoryKind::Activation || found == sizes.end() || found->second.own == 0) continue;
    const double allowed = bound * found->second.judged() / found->second.own;
    EXPECT_LE(allowed, 1.001 * std::sqrt(bound)) << tensor.name;
    limited += allowed > 0.999 * std::sqrt(bound);
  }
  EXPECT_GE(limited, 3);
  for (const char* value : {"ln1.out", "ln2.out", "mlp.proj.out"}) {
    const auto tensor = std::find_if(plan->program.tensors.begin(), plan->program.tensors.end(),
                                     [&](const Tensor& one) { return one.value == value; });
    ASSERT_NE(tensor, plan->program.tensors.end()) << value;
    for (const auto& [factor, is_right] : {std::pair{1.01, false}, {1.0001, true}}) {
      ParityCheck check(plan->program, serial, false);
      std::vector<float> values;
      for (const double right : serial->numbers(value)) values.push_back(static_cast<float>(factor * right));
      check.on_tensor(0, 0, *tensor, values.data());
      EXPECT_EQ(check.results()[static_cast<size_t>(tensor->id)]->within_bound(), is_right)
          << value << " times " << factor;
    }
  }
}

// Each rank sums over its own tokens what is no integer; everything else has the same bits.
TEST(Parity, IntegersAreExactWithSequenceParallelismToo) {
  for (const auto& layer : {small_layer, small_bert_layer}) {
    Settings settings = layer(3, "megatron-sp");
    settings.operands = Operands::Integer;
    const Outcome outcome = compare(settings);
    EXPECT_TRUE(outcome.summary.agrees) << outcome.first_broken();
    int fractions = 0;
    for (const auto& parity : outcome.parity) {
      if (parity == nullptr) continue;
      fractions += parity->bound > 0;
    }
    EXPECT_EQ(fractions, 2 * 6) << "γ and β of two norms, and two biases, before and after their sum";
    EXPECT_EQ(outcome.of("grad.X")->bound, 0);
  }
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
