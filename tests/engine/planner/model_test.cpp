// The Program of a whole model: which collectives it has, where, and how many bytes they send; what is
// counted once.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/planner/parameters.h"
#include "engine/planner/planner.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace model_test {

using testing::small_bert;
using testing::small_model;

Settings gpt2(int tp) {
  Settings settings;
  settings.block = Block::Model;
  settings.model = model_preset("gpt2");
  settings.tp = tp;
  return settings;
}

TEST(ModelPlanner, EachLayerHasTwoAllReducesEachWay) {
  for (const int tp : {2, 3, 4, 6, 12}) {
    const Program program = plan_program(gpt2(tp));
    std::map<int, std::map<Phase, int>> counts;
    for (const Step& step : program.steps)
      if (is_collective(step.op)) ++counts[step.layer][step.phase];
    for (int layer = 0; layer < 12; ++layer) {
      EXPECT_EQ(counts[layer][Phase::Forward], 2) << layer;
      EXPECT_EQ(counts[layer][Phase::Backward], 2) << layer;
    }
    // Outside: the lookup's g and the three numbers of the loss; the f before the logits.
    EXPECT_EQ(counts[-1][Phase::Forward], 4);
    EXPECT_EQ(counts[-1][Phase::Backward], 1);
  }
}

// The next token: the same two all-reduces a layer, of one token; keys and values stay where their heads are.
TEST(ModelPlanner, APassOfGenerationHasTwoAllReducesALayerAndSendsNoKeys) {
  for (const int tp : {2, 3, 5}) {
    Settings settings = gpt2(tp);
    settings.heads_policy = HeadsPolicy::Uneven;
    settings.batch = settings.seq = 1;
    settings.cache_tokens = 1024;
    const Program program = plan_program(settings);
    std::map<int, int> counts;
    int64_t sent = 0;
    for (const Step& step : program.steps) {
      EXPECT_EQ(step.phase, Phase::Forward);
      if (!is_collective(step.op)) continue;
      ++counts[step.layer];
      sent += sent_bytes(program, step.id);
    }
    for (int layer = 0; layer < 12; ++layer) EXPECT_EQ(counts[layer], 2);
    EXPECT_EQ(counts[-1], 1);                                                   // the lookup's g
    EXPECT_EQ(sent, 25 * ring_sent_bytes(Collective::AllReduce, 768 * 4, tp));  // one token each
    for (int rank = 0; rank < tp; ++rank) {
      const int64_t heads = shard_range(12, tp, rank).size();
      const MemoryPlan memory = plan_memory(program, rank);
      EXPECT_EQ(memory.arena_bytes[static_cast<size_t>(MemoryKind::KeyValueCache)],
                12 * 2 * 1024 * heads * 64 * 4);
    }
  }
}

TEST(ModelPlanner, TheFusedLossReducesThreeNumbersATokenAndNothingBackward) {
  const Program program = plan_program(gpt2(4));
  int64_t fused = 0;
  for (const Step& step : program.steps) {
    if (!is_collective(step.op) || step.part != Part::Loss || step.conjugate != Conjugate::None) continue;
    EXPECT_EQ(step.phase, Phase::Forward);
    fused += sent_bytes(program, step.id);
  }
  const int64_t tokens = 4 * 256;
  EXPECT_EQ(fused, 3 * (2 * tokens * 4 * 3 / 4));

  Settings gather = gpt2(4);
  gather.split.loss = LossForm::Gather;
  const Program gathered = plan_program(gather);
  int64_t bytes = 0;
  for (const Step& step : gathered.steps)
    if (step.op == Op::AllGather) bytes += sent_bytes(gathered, step.id);
  EXPECT_EQ(bytes, tokens * padded_vocab(gather.model, 4) * 4 * 3 / 4);
}

TEST(ModelPlanner, AnEvaluationNeverHoldsTheAttentionsProbabilities) {
  Settings settings = gpt2(2);
  settings.batch = 1;
  settings.seq = 1024;
  const Program training = plan_program(settings), evaluation = plan_evaluation(settings);
  const Shape probabilities{1024, 12, 1024};
  const auto holds_them = [&](const Program& program) {
    return std::any_of(program.tensors.begin(), program.tensors.end(),
                       [&](const Tensor& tensor) { return tensor.shape == probabilities; });
  };
  EXPECT_TRUE(holds_them(training));
  EXPECT_FALSE(holds_them(evaluation));
}

TEST(ModelPlanner, EveryParameterOfThePresetIsPlannedOnce) {
  for (const char* name : {"gpt2", "bert-base", "megatron-bert-336m", "gpt2-tiny"}) {
    Settings settings;
    settings.block = Block::Model;
    settings.model = model_preset(name);
    settings.seq = 64;
    const Program program = plan_program(settings);
    int64_t parameters = 0;
    for (const Tensor& tensor : program.tensors) {
      if (tensor.kind != MemoryKind::Weight) continue;
      Shape shape = tensor.shape;
      const int64_t padded = padded_vocab(settings.model, 1);
      if (shape[0] == padded) shape[0] = settings.model.vocab;
      parameters += element_count(shape);
    }
    EXPECT_EQ(parameters, parameter_count(settings.model)) << name;
  }
}

TEST(ModelPlanner, EveryWeightGetsOneGradientAndOneUpdate) {
  for (const Settings& settings : {small_model(3, 2), small_bert(2)}) {
    const Program program = plan_program(settings);
    std::map<std::string, int> updates;
    std::set<std::string> names;
    for (const Tensor& tensor : program.tensors) EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
    for (const Step& step : program.steps) {
      if (step.op != Op::AdamW) continue;
      const Tensor& weight = program.tensor(step.inputs[0]);
      ++updates[weight.name];
      EXPECT_EQ(program.tensor(step.inputs[1]).name, "grad." + weight.name);
      EXPECT_EQ(step.attributes.decay, weight.row_dims > 0) << weight.name;
    }
    for (const Tensor& tensor : program.tensors) {
      if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
      EXPECT_EQ(updates[tensor.name], 1) << tensor.name;
    }
  }
}

TEST(ModelPlanner, ReplicasReduceEveryGradientOnceAndNothingElseButTheLoss) {
  const Program program = plan_program(small_model(2, 2));
  std::set<std::string> reduced;
  for (const Step& step : program.steps) {
    if (step.axis != Axis::Dp) continue;
    EXPECT_EQ(step.op, Op::AllReduce);
    for (const TensorId id : step.outputs) EXPECT_TRUE(reduced.insert(program.tensor(id).name).second);
  }
  EXPECT_EQ(reduced.count("loss"), 1u);
  size_t gradients = 0;
  for (const Tensor& tensor : program.tensors)
    if (tensor.kind == MemoryKind::Weight && tensor.storage == kNoTensor) {
      EXPECT_EQ(reduced.count("grad." + tensor.name), 1u) << tensor.name;
      ++gradients;
    }
  EXPECT_EQ(reduced.size(), gradients + 1);
}

TEST(ModelPlanner, BucketsLeaveWhileTheBackwardPassGoesOn) {
  Settings settings = gpt2(1);
  settings.dp = 2;
  const Program program = plan_program(settings);
  std::vector<StepId> buckets;
  StepId last_compute = 0;
  for (const Step& step : program.steps) {
    if (step.axis == Axis::Dp && step.inputs.size() > 1) buckets.push_back(step.id);
    if (step.op == Op::LinearGradWeight) last_compute = step.id;
  }
  ASSERT_GT(buckets.size(), 5u);
  EXPECT_LT(buckets.front(), last_compute);
}

TEST(ModelPlanner, ImpossibleSettingsNameTheRemedy) {
  const auto message = [](const Settings& settings) -> std::string {
    try {
      plan_program(settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  Settings settings = small_model(2, 3);
  EXPECT_NE(message(settings).find("Try batch 3 or 6"), std::string::npos) << message(settings);
  settings = small_model(2);
  settings.operands = Operands::Integer;
  EXPECT_NE(message(settings).find("normal"), std::string::npos);
  settings = small_model(2);
  settings.dropout = 1;
  EXPECT_NE(message(settings).find("dropout"), std::string::npos);
  settings = small_model(2);
  settings.optimizer.clip = -1;
  EXPECT_NE(message(settings).find("clip"), std::string::npos);
}

}  // namespace model_test
}  // namespace shardlens
