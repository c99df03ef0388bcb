// The memory plan: no step finds a tensor's bytes overwritten, bytes are reused after the last reader, and
// live bytes never exceed the arenas.
#include "engine/planner/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/config/presets.h"
#include "engine/planner/planner.h"
#include "engine/program/overlap_waits.h"
#include "tests/engine/small_layer.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace memory_plan_test {

using testing::small_layer;

using testing::small_bert;
using testing::small_model;

size_t index_of(MemoryKind kind) {
  return static_cast<size_t>(kind);
}

// Plays a Program over a plan's arenas without computing anything: of every 64 bytes it knows the tensor that
// was put there last. Independent of the planner's own lifetimes.
class Played {
 public:
  Played(const Program& program, const MemoryPlan& plan) : program_(program), plan_(plan) {
    for (size_t kind = 0; kind < holder_.size(); ++kind)
      holder_[kind].assign(static_cast<size_t>(plan.arena_bytes[kind] + 63) / 64, kNoTensor);
  }

  // The first thing that is wrong, or nothing.
  std::string first_wrong() {
    for (const Tensor& tensor : program_.tensors)
      if (is_there_before(tensor)) write(tensor.id, "before the first step");
    const std::vector<bool> behind_lane = waits_for_overlapped(program_);
    for (const Step& step : program_.steps) {
      if (behind_lane[static_cast<size_t>(step.id)]) in_flight_.clear();
      in_use_ = in_flight_;
      for (TensorId id : step.inputs) in_use_.push_back(storage_of(program_, id));
      for (TensorId id : step.inputs) expect_held(id, step.name);
      for (TensorId id : step.outputs) {
        write(id, step.name);
        in_use_.push_back(storage_of(program_, id));
      }
      if (!step.overlapped) continue;
      for (const auto* ids : {&step.inputs, &step.outputs})
        for (TensorId id : *ids) in_flight_.push_back(storage_of(program_, id));
    }
    for (const Tensor& tensor : program_.tensors)
      if (tensor.keep || tensor.kind == MemoryKind::WeightGradient || is_there_before(tensor))
        expect_held(tensor.id, "the end");
    return wrong_;
  }

 private:
  static bool is_there_before(const Tensor& tensor) {
    const bool lasts = tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::OptimizerState ||
                       tensor.kind == MemoryKind::Input || tensor.kind == MemoryKind::KeyValueCache;
    return lasts && tensor.storage == kNoTensor;
  }

  // The holders of the bytes of the tensor's storage.
  std::span<TensorId> holders(TensorId storage) {
    const auto i = static_cast<size_t>(storage);
    std::vector<TensorId>& arena = holder_[index_of(plan_.arena[i])];
    const auto begin = static_cast<size_t>(plan_.offset[i]) / 64;
    const auto count = static_cast<size_t>(plan_.bytes[i] + 63) / 64;
    if (begin + count > arena.size()) {
      note(storage, "its arena's end");
      return {};
    }
    return {arena.data() + begin, count};
  }

  void write(TensorId id, const std::string& where) {
    const TensorId storage = storage_of(program_, id);
    for (TensorId& holder : holders(storage)) {
      if (holder != storage && std::count(in_use_.begin(), in_use_.end(), holder) > 0) note(holder, where);
      holder = storage;
    }
  }

  void expect_held(TensorId id, const std::string& where) {
    const TensorId storage = storage_of(program_, id);
    for (const TensorId holder : holders(storage))
      if (holder != storage) return note(id, where);
  }

  void note(TensorId id, const std::string& where) {
    if (wrong_.empty()) wrong_ = program_.tensor(id).name + " has lost bytes at " + where;
  }

  const Program& program_;
  const MemoryPlan& plan_;
  std::array<std::vector<TensorId>, kMemoryKinds> holder_;  // by arena, of every 64 bytes
  std::vector<TensorId> in_flight_;  // storages that a step beside the others may still work on
  std::vector<TensorId> in_use_;     // and those of the step at hand
  std::string wrong_;
};

// Arenas are as large as what lies in them, and their own kind alone makes them so.
void expect_arenas_fit(const Program& program, const MemoryPlan& plan) {
  BytesByKind all{}, own{};
  for (const Tensor& tensor : program.tensors) {
    const auto i = static_cast<size_t>(tensor.id);
    if (tensor.storage != kNoTensor) continue;
    const size_t arena = index_of(plan.arena[i]);
    all[arena] = std::max(all[arena], plan.offset[i] + plan.bytes[i]);
    if (plan.arena[i] == tensor.kind) own[arena] = std::max(own[arena], plan.offset[i] + plan.bytes[i]);
  }
  EXPECT_EQ(plan.arena_bytes, all);
  EXPECT_EQ(plan.arena_bytes, own);
}

void expect_sound(const Settings& settings) {
  const Program program = plan_program(settings);
  for (const int rank : {0, settings.tp - 1}) {
    const MemoryPlan plan = plan_memory(program, rank);
    SCOPED_TRACE(::testing::Message()
                 << program.settings.model.name << " T " << settings.tp << " rank " << rank << " parts "
                 << settings.micro_batches << " recompute " << to_string(settings.recompute));
    EXPECT_EQ(Played(program, plan).first_wrong(), "");
    expect_arenas_fit(program, plan);
  }
}

TEST(MemoryPlan, NoStepFindsATensorsBytesTaken) {
  for (const char* split :
       {"megatron", "megatron-sp", "reversed", "row-row", "column-column", "replicated"}) {
    for (Settings settings : {small_model(1, 1, split), small_bert(1, 2, split)}) {
      settings.model.layers = 3;
      for (const int tp : {1, 2, 3}) {
        for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
          for (const Fusion fusion : {Fusion::On, Fusion::Off}) {
            for (const int parts : {1, 2, 3}) {
              SCOPED_TRACE(split);
              settings.tp = tp;
              settings.recompute = recompute;
              settings.fusion = fusion;
              settings.micro_batches = parts;
              settings.batch = 2 * parts * settings.dp;
              settings.overlap_chunks = parts;
              settings.dropout = parts == 2 ? 0.1 : 0;
              settings.dtype = parts == 3 ? DType::Fp16 : DType::Fp32;
              expect_sound(settings);
            }
          }
        }
      }
    }
  }
}

TEST(MemoryPlan, NoStepOfALayerOrOfGenerationFindsATensorsBytesTaken) {
  for (const char* split : {"megatron", "reversed", "replicated"}) {
    for (const int tp : {1, 2, 3, 12}) {
      Settings settings = small_layer(tp, split);
      for (const Block block : {Block::Layer, Block::Mlp, Block::Attention}) {
        settings.block = block;
        expect_sound(settings);
      }
    }
    Settings settings = small_model(2, 1, split);
    settings.update = false;
    settings.cache_tokens = 16;
    expect_sound(settings);
  }
}

// Presets as they are, small ones: what lies where is decided by sizes that no test made up.
TEST(MemoryPlan, NoStepOfAPresetFindsATensorsBytesTaken) {
  for (const char* name : {"gpt2-tiny", "bert-tiny", "gpt2-10m"}) {
    for (const int tp : {1, 2}) {
      for (const int64_t seq : {16, 64}) {
        Settings settings = small_model(tp);
        settings.model = model_preset(name);
        settings.seq = seq;
        expect_sound(settings);
      }
    }
  }
}

TEST(MemoryPlan, ATensorLivesFromItsWriterToItsLastReader) {
  const Program program = plan_program(small_layer(2));
  const MemoryPlan plan = plan_memory(program, 0);
  for (const Step& step : program.steps) {
    for (TensorId id : step.inputs) {
      EXPECT_LE(plan.first_step[static_cast<size_t>(id)], step.id);
      EXPECT_GE(plan.last_step[static_cast<size_t>(id)], step.id)
          << program.tensor(id).name << " at " << step.name;
    }
  }
}

TEST(MemoryPlan, BytesAreReusedAfterTheLastReader) {
  const Program program = plan_program(small_layer(2));
  const MemoryPlan plan = plan_memory(program, 0);
  int64_t all = 0;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind == MemoryKind::ActivationGradient) all += plan.bytes[static_cast<size_t>(tensor.id)];
  }
  EXPECT_LT(plan.arena_bytes[static_cast<size_t>(MemoryKind::ActivationGradient)], all);
}

TEST(MemoryPlan, WeightsPerRankFallAsOneOverT) {
  const auto weights = [](int tp) {
    const Program program = plan_program(small_layer(tp));
    int64_t cut = 0;
    const MemoryPlan plan = plan_memory(program, 0);
    for (const Tensor& tensor : program.tensors) {
      const bool matrix = tensor.kind == MemoryKind::Weight && tensor.row_dims > 0;
      if (matrix) cut += plan.bytes[static_cast<size_t>(tensor.id)];
    }
    return cut;
  };
  EXPECT_EQ(weights(1), 4 * weights(4));
  EXPECT_EQ(weights(1), 12 * weights(12));
}

// One behind the other, as a pass from the first layer to the last reads them.
TEST(MemoryPlan, WeightsLieInTheOrderInWhichTheyAreRead) {
  const Program program = plan_program(small_model(2));
  const MemoryPlan plan = plan_memory(program, 1);
  int64_t end = 0;
  for (const Step& step : program.steps) {
    if (step.op != Op::Linear || step.layer < 0) continue;
    const auto weight = static_cast<size_t>(step.inputs[1]);
    EXPECT_GE(plan.offset[weight], end) << step.name;
    end = plan.offset[weight] + plan.bytes[weight];
  }
  EXPECT_GT(end, 0);
  EXPECT_LE(end, plan.arena_bytes[index_of(MemoryKind::Weight)]);
}

TEST(MemoryPlan, InPlaceTensorsNeedNoBytesOfTheirOwn) {
  const Program program = plan_program(small_layer(2));
  const MemoryPlan plan = plan_memory(program, 0);
  for (const Step& step : program.steps) {
    if (step.op != Op::AllReduce && step.op != Op::Identity) continue;
    EXPECT_EQ(storage_of(program, step.outputs[0]), storage_of(program, step.inputs[0]));
    EXPECT_EQ(plan.bytes[static_cast<size_t>(step.outputs[0])], 0);
  }
}

TEST(MemoryPlan, LiveBytesNeverExceedTheArenas) {
  for (const Settings& settings : {small_layer(4, "reversed"), small_model(2), small_bert(3)}) {
    const Program program = plan_program(settings);
    const MemoryPlan plan = plan_memory(program, 1);
    for (const BytesByKind& live : plan.live_bytes) {
      EXPECT_LE(total_bytes(live), total_bytes(plan.arena_bytes));
      for (size_t kind = 0; kind < live.size(); ++kind)
        EXPECT_LE(live[kind], plan.arena_bytes[kind] + plan.borrowed_bytes[kind]);
    }
  }
}

// Of two layers the upper one's activations are read for the last time before the lower one's gradients are
// written, and at these sizes they fit.
TEST(MemoryPlan, ActivationsLieInGradientsThatAreNotWrittenYet) {
  const Program program = plan_program(small_model(1));
  const MemoryPlan plan = plan_memory(program, 0);
  int64_t borrowed = 0;
  for (const Tensor& tensor : program.tensors) {
    const auto i = static_cast<size_t>(tensor.id);
    if (tensor.storage != kNoTensor || plan.arena[i] == tensor.kind) continue;
    EXPECT_TRUE(tensor.kind == MemoryKind::Activation || tensor.kind == MemoryKind::ActivationGradient)
        << tensor.name;
    if (tensor.kind != MemoryKind::Activation) continue;
    EXPECT_EQ(plan.arena[i], MemoryKind::WeightGradient) << tensor.name;
    borrowed += plan.bytes[i];
  }
  EXPECT_GT(borrowed, 0);
  EXPECT_GT(plan.borrowed_bytes[index_of(MemoryKind::Activation)], 0);
  EXPECT_LE(plan.borrowed_bytes[index_of(MemoryKind::Activation)], borrowed);
  // What is said adds up to the most that is held.
  int64_t held = 0;
  for (const BytesByKind& live : plan.live_bytes)
    held = std::max(held, live[index_of(MemoryKind::Activation)]);
  const int64_t own = held - plan.borrowed_bytes[index_of(MemoryKind::Activation)];
  EXPECT_GE(own, 0);
  EXPECT_LE(own, plan.arena_bytes[index_of(MemoryKind::Activation)]);
  const std::string said = explain_borrowing(plan);
  for (const int64_t bytes : {held, held - own})
    EXPECT_NE(said.find(bytes_text(static_cast<double>(bytes))), std::string::npos) << said;
  EXPECT_EQ(plan.borrowed_bytes[index_of(MemoryKind::WeightGradient)], 0);
  // The second part of a batch adds to gradients that are there.
  Settings settings = small_model(1);
  settings.micro_batches = 2;
  const Program parts = plan_program(settings);
  const MemoryPlan plan_of_parts = plan_memory(parts, 0);
  for (const Tensor& tensor : parts.tensors) {
    if (!tensor.name.starts_with("mb1.") || tensor.kind == MemoryKind::WeightGradient) continue;
    EXPECT_NE(plan_of_parts.arena[static_cast<size_t>(tensor.id)], MemoryKind::WeightGradient) << tensor.name;
  }
}

// The gradient of the logits, as large as they are, is written over them; of generation they are the result.
TEST(MemoryPlan, TheGradientOfTheLogitsLiesOverThem) {
  for (Settings settings : {small_model(2), small_bert(2)}) {
    for (const LossForm form : {LossForm::Fused, LossForm::Gather}) {
      settings.split.loss = form;
      const Program program = plan_program(settings);
      const auto gradient = std::find_if(program.steps.begin(), program.steps.end(),
                                         [](const Step& step) { return step.op == Op::CrossEntropyGrad; });
      ASSERT_NE(gradient, program.steps.end());
      EXPECT_EQ(storage_of(program, gradient->outputs[0]), storage_of(program, gradient->inputs[0]));
      EXPECT_EQ(program.tensor(gradient->outputs[0]).kind, MemoryKind::ActivationGradient);
    }
  }
  Settings settings = small_model(2);
  settings.update = false;
  settings.cache_tokens = 16;
  const Program program = plan_program(settings);
  EXPECT_TRUE(std::any_of(program.tensors.begin(), program.tensors.end(),
                          [](const Tensor& tensor) { return tensor.name == "logits" && tensor.keep; }));
}

// Where the ranks compute on GPUs for certain, nothing is set aside that they leave alone, and nothing else
// changes.
TEST(MemoryPlan, AttentionsScratchIsPlannedForWhatNeedsIt) {
  for (const DType dtype : {DType::Fp32, DType::Bf16}) {
    for (const Recompute recompute : {Recompute::None, Recompute::Selective}) {
      Settings settings = testing::small_model(2);
      settings.dtype = dtype;
      settings.recompute = recompute;
      settings.fusion = Fusion::Off;  // on GPUs other steps are one
      const auto bytes = [&](BackendChoice backend) {
        settings.backend = backend;
        return plan_memory(plan_program(settings), 0).arena_bytes;
      };
      BytesByKind cpu = bytes(BackendChoice::Cpu);
      const BytesByKind gpu = bytes(BackendChoice::Cuda);
      constexpr auto kWorkspace = static_cast<size_t>(MemoryKind::Workspace);
      EXPECT_EQ(bytes(BackendChoice::Auto), cpu) << "either of them";
      EXPECT_GT(cpu[kWorkspace], 0);
      EXPECT_EQ(gpu[kWorkspace], 0);
      cpu[kWorkspace] = 0;
      EXPECT_EQ(gpu, cpu);
    }
  }
}

// Counts the live bytes of each step one by one.
TEST(MemoryPlan, LiveBytesAreThoseOfTheTensorsAlive) {
  for (const Program& program : {plan_program(small_model(2)), plan_program(small_layer(3))}) {
    const MemoryPlan plan = plan_memory(program, 1);
    const auto end = static_cast<StepId>(program.steps.size());
    for (StepId step = 0; step < end; ++step) {
      BytesByKind expected{};
      for (const Tensor& tensor : program.tensors) {
        const auto i = static_cast<size_t>(tensor.id);
        const bool alive = plan.first_step[i] <= step && step <= plan.last_step[i];
        if (tensor.storage == kNoTensor && alive) expected[index_of(tensor.kind)] += plan.bytes[i];
      }
      EXPECT_EQ(plan.live_bytes[static_cast<size_t>(step)], expected) << step;
    }
  }
}

}  // namespace memory_plan_test
}  // namespace shardlens
