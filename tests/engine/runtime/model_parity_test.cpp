// A whole model, sharded and replicated, equals the serial one. Each known mistake that only a whole model
// can have is found and named.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/planner/planner.h"
#include "engine/program/fault.h"
#include "engine/runtime/parity.h"
#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace model_parity_test {

using testing::compare;
using testing::Outcome;
using testing::run;
using testing::small_bert;
using testing::small_model;

struct Case {
  int tp, dp;
  const char* split;
};

class ModelParity : public ::testing::TestWithParam<Case> {};

TEST_P(ModelParity, HoldsForBothFamiliesInBothPrecisions) {
  const auto [tp, dp, split] = GetParam();
  for (const auto& model : {small_model, small_bert}) {
    for (const DType dtype : {DType::Fp32, DType::Fp64}) {
      Settings settings = model(tp, dp, split);
      settings.dtype = dtype;
      const Outcome outcome = compare(settings, plan_program(settings));
      EXPECT_TRUE(outcome.summary.agrees)
          << settings.model.name << " " << to_string(dtype) << ": " << outcome.first_broken() << " "
          << outcome.summary.worst_relative_error;
      ASSERT_NE(outcome.of("loss"), nullptr);
      ASSERT_NE(outcome.of("clip"), nullptr);
      for (const Tensor& tensor : outcome.program.tensors) {
        if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
        EXPECT_NE(outcome.of("grad." + tensor.name), nullptr)
            << tensor.name << "'s gradient was not compared";
      }
    }
  }
}

// A single label's logit may come out near zero, a sum of terms much larger than itself: its error is the
// other logits', and so is what it is measured by.
TEST(ModelParityOfOneToken, ItsLogitIsMeasuredByAllLogits) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Settings settings = small_model(3, 1, "megatron");
    settings.batch = settings.seq = 1;
    settings.seed = seed;
    const Outcome outcome = compare(settings, plan_program(settings));
    EXPECT_TRUE(outcome.summary.agrees)
        << seed << ": " << outcome.first_broken() << " " << outcome.summary.worst_relative_error;
  }
}

// All logits 1, one label among many; whatever its own logit is, an error of 0.001 is one of 0.001, and the
// labels that are ignored do not make it less.
TEST(ModelParityOfOneToken, IgnoredLabelsDoNotDiluteAnError) {
  const Program program = plan_program(small_model(1));
  for (const float logit : {1.0f, 1e-6f}) {
    auto serial = std::make_shared<SerialReference>();
    std::vector<float> targets;
    TensorId target = kNoTensor;
    for (const Tensor& tensor : program.tensors) {
      std::vector<float> values(static_cast<size_t>(element_count(tensor.shape)), 1.0f);
      if (tensor.value == "loss.target") {
        target = tensor.id;
        std::fill(values.begin() + 1, values.end(), 0.0f);
        values[0] = logit;
        targets = values;
      }
      if (tensor.value == "logits" || tensor.id == target) serial->on_tensor(0, 0, tensor, values.data());
    }
    ASSERT_GT(targets.size(), 40u);
    ParityCheck check(program, serial, false);
    targets[0] += 1e-3f;
    check.on_tensor(0, 0, program.tensor(target), targets.data());
    EXPECT_NEAR(check.results()[static_cast<size_t>(target)]->relative_error, 1e-3, 1e-6) << logit;
  }
}

INSTANTIATE_TEST_SUITE_P(
    DegreesReplicasAndSplits, ModelParity,
    ::testing::Values(Case{2, 1, "megatron"}, Case{3, 1, "megatron"}, Case{4, 1, "megatron"},
                      Case{5, 1, "megatron"}, Case{7, 1, "megatron"}, Case{1, 2, "megatron"},
                      Case{2, 2, "megatron"}, Case{3, 4, "megatron"}, Case{2, 1, "reversed"},
                      Case{3, 2, "reversed"}, Case{2, 2, "replicated"}, Case{3, 1, "row-row"},
                      Case{3, 1, "column-column"}),
    [](const auto& param) {
      std::string name = param.param.split;
      std::replace(name.begin(), name.end(), '-', '_');
      return name + "_T" + std::to_string(param.param.tp) + "_D" + std::to_string(param.param.dp);
    });

// In 16 bits too, and the optimizer's fp32 copies are the weights before they were rounded.
TEST(ModelParity, HoldsInSixteenBits) {
  for (const auto& model : {small_model, small_bert}) {
    for (const DType dtype : {DType::Bf16, DType::Fp16}) {
      for (const auto& [tp, dp] : {std::pair{3, 1}, std::pair{2, 2}}) {
        Settings settings = model(tp, dp, "megatron");
        settings.dtype = dtype;
        const Outcome outcome = compare(settings, plan_program(settings));
        EXPECT_TRUE(outcome.summary.agrees)
            << settings.model.name << " " << to_string(dtype) << " T " << tp << " D " << dp << ": "
            << outcome.first_broken() << " " << outcome.summary.worst_relative_error;
        EXPECT_GT(outcome.summary.worst_relative_error, 0);
        for (const Tensor& tensor : outcome.program.tensors) {
          if (tensor.kind == MemoryKind::WeightGradient) {
            EXPECT_EQ(tensor.dtype, DType::Fp32) << tensor.name;
          }
        }
      }
    }
  }
}

TEST(ModelParity, HoldsWithTheGatheredLoss) {
  Settings settings = small_model(3);
  settings.split.loss = LossForm::Gather;
  EXPECT_TRUE(compare(settings, plan_program(settings)).summary.agrees);
}

TEST(ModelParity, HoldsWithUntiedEmbeddings) {
  Settings settings = small_model(3);
  settings.model.tied = false;
  EXPECT_TRUE(compare(settings, plan_program(settings)).summary.agrees);
}

// The parts of a batch and the layers run again must change no gradient: compared with a serial run that has
// neither.
TEST(ModelParity, RecomputingChangesNoBit) {
  Settings settings = small_model(2);
  auto kept = std::make_shared<SerialReference>();
  run(make_plan(settings), {});
  settings.tp = 1;
  run(make_plan(settings), {kept});
  settings.recompute = Recompute::Full;
  auto again = std::make_shared<SerialReference>();
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  run(plan, {again});
  int compared = 0;
  for (const Tensor& tensor : plan->program.tensors) {
    if (tensor.kind != MemoryKind::WeightGradient) continue;
    ASSERT_NE(kept->find(tensor.value), nullptr) << tensor.value;
    EXPECT_EQ(*again->find(tensor.value), *kept->find(tensor.value)) << tensor.value;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

// Neither does computing attention's probabilities again, with dropout between them and the values or
// without.
TEST(ModelParity, ComputingProbabilitiesAgainChangesNoBit) {
  for (const double dropout : {0.0, 0.2}) {
    Settings settings = small_model(1);
    settings.dropout = dropout;
    auto kept = std::make_shared<SerialReference>();
    run(make_plan(settings), {kept});
    settings.recompute = Recompute::Selective;
    auto again = std::make_shared<SerialReference>();
    const std::shared_ptr<const Plan> plan = make_plan(settings);
    run(plan, {again});
    for (const Tensor& tensor : plan->program.tensors) {
      EXPECT_EQ(tensor.value.find("attn.probs"), std::string::npos);
      if (tensor.kind != MemoryKind::WeightGradient) continue;
      ASSERT_NE(kept->find(tensor.value), nullptr) << tensor.value;
      EXPECT_EQ(*again->find(tensor.value), *kept->find(tensor.value)) << tensor.value;
    }
  }
}

// The masks of the split region and of the residual stream are the same elements whatever T and D.
TEST(ModelParity, HoldsWithDropout) {
  for (const auto& model : {small_model, small_bert}) {
    for (const auto& [tp, dp] : {std::pair{2, 1}, std::pair{3, 1}, std::pair{2, 2}, std::pair{1, 4}}) {
      for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
        Settings settings = model(tp, dp, "megatron");
        settings.dtype = DType::Fp64;
        settings.dropout = 0.2;
        settings.recompute = recompute;
        const Outcome outcome = compare(settings, plan_program(settings));
        EXPECT_TRUE(outcome.summary.agrees)
            << settings.model.name << " T " << tp << " D " << dp << " " << to_string(recompute) << ": "
            << outcome.first_broken() << " " << outcome.summary.worst_relative_error;
      }
    }
  }
  Settings settings = small_model(1);
  auto without = std::make_shared<SerialReference>();
  run(make_plan(settings), {without});
  settings.dropout = 0.2;
  auto with = std::make_shared<SerialReference>();
  run(make_plan(settings), {with});
  EXPECT_NE(*with->find("h.1.attn.context"), *without->find("h.1.attn.context"));
}

TEST(ModelParity, RecomputingHoldsLessMemory) {
  Settings settings = small_model(2);
  settings.model.layers = 8;
  const auto activations = [](const Settings& s) {
    return make_plan(s)->memory[0].arena_bytes[static_cast<size_t>(MemoryKind::Activation)];
  };
  const int64_t kept = activations(settings);
  settings.recompute = Recompute::Full;
  EXPECT_LT(2 * activations(settings), kept);
}

class PartsOfTheBatch : public ::testing::TestWithParam<double> {};

// With dropout too: a row's mask does not depend on the part it is run in.
TEST_P(PartsOfTheBatch, AddUpToTheWhole) {
  Settings settings = small_bert(2);  // labels are spread unevenly over the parts
  settings.dropout = GetParam();
  auto whole = std::make_shared<SerialReference>();
  settings.dtype = DType::Fp64;
  settings.tp = 1;
  run(make_plan(settings), {whole});
  settings.micro_batches = 4;
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  auto check = std::make_shared<ParityCheck>(plan->program, whole, false);
  run(plan, {check});
  const auto results = check->results();
  int compared = 0;
  for (const Tensor& tensor : plan->program.tensors) {
    const bool is_sum = tensor.kind == MemoryKind::WeightGradient || tensor.value == "loss";
    const auto& parity = results[static_cast<size_t>(tensor.id)];
    const bool is_part = tensor.value.find(".part") != std::string::npos;  // of other sums than the whole's
    if (!is_sum || is_part || parity == nullptr) continue;
    EXPECT_LE(parity->relative_error, 1e-13) << tensor.value;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

INSTANTIATE_TEST_SUITE_P(ModelParity, PartsOfTheBatch, ::testing::Values(0.0, 0.2), [](const auto& param) {
  return param.param > 0 ? "WithDropout" : "WithoutDropout";
});

struct Trap {
  Fault fault;
  const char* tensor;  // where parity must see it first
  double dropout = 0;
};

class ModelTrap : public ::testing::TestWithParam<Trap> {};

TEST_P(ModelTrap, IsFoundWhereItBegins) {
  Settings settings = small_model(3);
  settings.dropout = GetParam().dropout;
  EXPECT_TRUE(compare(settings).summary.agrees);
  const Outcome outcome = compare(settings, plant(plan_program(settings), GetParam().fault));
  EXPECT_FALSE(outcome.summary.agrees);
  EXPECT_EQ(outcome.first_broken(), GetParam().tensor);
}

INSTANTIATE_TEST_SUITE_P(KnownTraps, ModelTrap,
                         ::testing::Values(Trap{Fault::PaddedSoftmax, "loss.sumexp"},
                                           Trap{Fault::TiedGradientLost, "grad.transformer.wte.weight"},
                                           Trap{Fault::ClipInflated, "clip"},
                                           Trap{Fault::SkipF, "grad.h.1.ln2.out"},
                                           Trap{Fault::SkipG, "h.0.attn.proj.sum"},
                                           Trap{Fault::OneDropoutStream, "h.0.attn.context", 0.3},
                                           Trap{Fault::OwnDropoutStreams, "embedding.dropped", 0.3}),
                         [](const auto& param) {
                           std::string name = to_string(param.param.fault);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The loss must not depend on how far the vocabulary was padded for T.
TEST(ModelParity, TheLossDoesNotDependOnThePadding) {
  const auto loss = [](int vocab_ranks) {
    Settings settings = small_model(1);
    settings.vocab_ranks = vocab_ranks;
    auto values = std::make_shared<SerialReference>();
    run(make_plan(settings), {values});
    return *values->find("loss");
  };
  EXPECT_EQ(loss(1), loss(8));
}

}  // namespace model_parity_test
}  // namespace shardlens
