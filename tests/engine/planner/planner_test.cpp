// The Program of one layer: where each split needs collectives, the layout of each tensor, and errors that
// name the nearest degree that works.
#include "engine/planner/planner.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace planner_test {

using testing::small_bert_layer;
using testing::small_layer;

struct Counts {
  std::map<Op, int> forward, backward;
};

Counts collectives(const Program& program) {
  Counts counts;
  for (const Step& step : program.steps) {
    if (is_collective(step.op)) ++(step.phase == Phase::Forward ? counts.forward : counts.backward)[step.op];
  }
  return counts;
}

const Step* find(const Program& program, const std::string& name) {
  for (const Step& step : program.steps) {
    if (step.name == name) return &step;
  }
  return nullptr;
}

TEST(Planner, MegatronNeedsTwoAllReducesEachWayAndNothingElse) {
  for (int tp : {2, 3, 4, 6, 12}) {
    for (const Settings& settings : {small_layer(tp), small_bert_layer(tp)}) {
      const Counts counts = collectives(plan_program(settings));
      EXPECT_EQ(counts.forward, (std::map<Op, int>{{Op::AllReduce, 2}}))
          << settings.model.name << " T " << tp;
      EXPECT_EQ(counts.backward, (std::map<Op, int>{{Op::AllReduce, 2}}))
          << settings.model.name << " T " << tp;
    }
  }
}

TEST(Planner, OneRankNeedsNoCollectiveWhateverTheSplit) {
  for (const char* split : {"megatron", "reversed", "replicated", "row-row", "column-column"}) {
    const Program program = plan_program(small_layer(1, split));
    for (const Step& step : program.steps) {
      EXPECT_FALSE(is_collective(step.op));
      EXPECT_NE(step.op, Op::Identity);
    }
  }
}

TEST(Planner, ReplicatedWeightsNeedNoCollective) {
  const Counts counts = collectives(plan_program(small_layer(4, "replicated")));
  EXPECT_TRUE(counts.forward.empty());
  EXPECT_TRUE(counts.backward.empty());
}

TEST(Planner, ReversedSynchronisesBeforeTheGelu) {
  Settings settings = small_layer(4, "reversed");
  settings.block = Block::Mlp;
  const Program program = plan_program(settings);
  const Counts counts = collectives(program);
  EXPECT_EQ(counts.forward, (std::map<Op, int>{{Op::AllReduce, 1}, {Op::AllGather, 1}}));
  EXPECT_EQ(counts.backward, (std::map<Op, int>{{Op::AllReduce, 1}, {Op::AllGather, 1}}));
  StepId reduce = -1, gelu = -1;
  for (const Step& step : program.steps) {
    if (step.phase != Phase::Forward) break;
    if (step.op == Op::AllReduce) reduce = step.id;
    if (step.op == Op::Gelu) gelu = step.id;
  }
  EXPECT_LT(reduce, gelu);
  EXPECT_EQ(program.tensor(program.step(gelu).inputs[0]).layout, kReplicated);
}

TEST(Planner, NoElementWiseStepSeesAPartialTensor) {
  for (const char* split : {"megatron", "reversed", "replicated", "row-row", "column-column"}) {
    const Program program = plan_program(small_layer(3, split));
    for (const Step& step : program.steps) {
      if (is_collective(step.op) || step.op == Op::Identity) continue;
      for (TensorId id : step.inputs)
        EXPECT_NE(program.tensor(id).layout.kind, LayoutKind::Partial) << step.name;
    }
  }
}

TEST(Planner, ConjugatesAreNamedAlsoWhereTheyAreTheIdentity) {
  const Program program = plan_program(small_layer(2));
  int f_identity = 0, f_reduce = 0, g_identity = 0, g_reduce = 0;
  for (const Step& step : program.steps) {
    if (step.conjugate == Conjugate::None) continue;
    ASSERT_GE(step.pair, 0);
    EXPECT_EQ(program.step(step.pair).pair, step.id);
    EXPECT_NE(program.step(step.pair).phase, step.phase);
    const bool identity = step.op == Op::Identity;
    if (step.conjugate == Conjugate::F) {
      EXPECT_EQ(identity, step.phase == Phase::Forward);
      ++(identity ? f_identity : f_reduce);
    } else {
      EXPECT_EQ(identity, step.phase == Phase::Backward);
      ++(identity ? g_identity : g_reduce);
    }
  }
  EXPECT_EQ(f_identity, 2);
  EXPECT_EQ(f_reduce, 2);
  EXPECT_EQ(g_identity, 2);
  EXPECT_EQ(g_reduce, 2);
}

TEST(Planner, TheRowParallelBiasComesAfterTheReduction) {
  const Program program = plan_program(small_layer(4));
  const Step* bias = find(program, "mlp.proj bias");
  ASSERT_NE(bias, nullptr);
  EXPECT_EQ(program.step(bias->id - 1).op, Op::AllReduce);
  EXPECT_EQ(program.tensor(bias->inputs[0]).layout, kReplicated);
  EXPECT_EQ(program.tensor(bias->inputs[1]).layout, kReplicated);
}

TEST(Planner, QkvIsCutBetweenHeads) {
  const Program program = plan_program(small_layer(4));
  const Step* qkv = find(program, "attn.qkv");
  ASSERT_NE(qkv, nullptr);
  const Tensor& weight = program.tensor(qkv->inputs[1]);
  EXPECT_EQ(weight.shape, (Shape{96, 3, 12, 8}));
  EXPECT_EQ(weight.layout, sharded(2));
  EXPECT_EQ(local_shape(weight, 4, 0), (Shape{96, 3, 3, 8}));
}

TEST(Planner, TheChaptersExerciseInBytes) {
  Settings settings;
  settings.model.hidden = 4096;
  settings.model.heads = 32;
  settings.model.ffn = 16384;
  settings.model.positions = 2048;
  settings.tp = 8;
  settings.dtype = DType::Fp16;
  settings.batch = 4;
  settings.seq = 2048;
  const Program program = plan_program(settings);
  int all_reduces = 0;
  for (const Step& step : program.steps) {
    if (step.op != Op::AllReduce) continue;
    ++all_reduces;
    EXPECT_EQ(sent_bytes(program, step.id), 117'440'512);
  }
  EXPECT_EQ(all_reduces, 4);
}

TEST(Planner, ShapesOfThePapersLargestModel) {
  // 8.3 B with 24 heads at T = 8: three heads and 3072 x 1536 of the MLP's first matrix per GPU.
  Settings settings;
  settings.model = model_preset("megatron-8.3b");
  settings.model.heads = 24;
  settings.tp = 8;
  settings.dtype = DType::Fp16;
  settings.batch = 1;
  settings.seq = 1024;
  const Program program = plan_program(settings);
  const Step* fc = find(program, "mlp.fc");
  ASSERT_NE(fc, nullptr);
  EXPECT_EQ(local_shape(program.tensor(fc->inputs[1]), 8, 5), (Shape{3072, 1536}));
  const Step* core = find(program, "attn.core");
  ASSERT_NE(core, nullptr);
  EXPECT_EQ(local_shape(program.tensor(core->outputs[0]), 8, 0)[1], 3);
}

TEST(Planner, EveryWeightGetsAGradientInItsOwnLayout) {
  for (const char* split : {"megatron", "reversed", "replicated", "row-row", "column-column"}) {
    for (const Settings& settings : {small_layer(3, split), small_bert_layer(3, split)}) {
      const Program program = plan_program(settings);
      std::map<std::string, const Tensor*> gradients;
      for (const Tensor& tensor : program.tensors) {
        if (tensor.kind == MemoryKind::WeightGradient) gradients[tensor.value] = &tensor;
      }
      for (const Tensor& weight : program.tensors) {
        if (weight.kind != MemoryKind::Weight) continue;
        const auto found = gradients.find("grad." + weight.value);
        ASSERT_NE(found, gradients.end()) << weight.name;
        EXPECT_EQ(found->second->layout, weight.layout) << weight.name;
        EXPECT_EQ(found->second->shape, weight.shape);
        EXPECT_GE(producer_of(program, found->second->id), 0);
      }
    }
  }
}

TEST(Planner, ImpossibleDegreesNameTheNearest) {
  try {
    plan_program(small_layer(5));
    FAIL() << "T = 5 of 12 heads must be refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_NE(std::string(error.what()).find("4 or 6"), std::string::npos) << error.what();
  }
}

}  // namespace planner_test
}  // namespace shardlens
