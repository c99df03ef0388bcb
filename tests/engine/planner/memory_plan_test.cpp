#include "engine/planner/memory_plan.h"

#include <gtest/gtest.h>

#include "engine/planner/planner.h"
#include "tests/engine/small_layer.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace {

using testing::small_layer;

TEST(MemoryPlan, NoTwoLivingTensorsShareAByte) {
  for (const char* split : {"megatron", "reversed", "replicated"}) {
    for (int tp : {1, 2, 3, 12}) {
      const Program program = plan_program(small_layer(tp, split));
      for (int rank = 0; rank < tp; ++rank) {
        const MemoryPlan plan = plan_memory(program, rank);
        for (const Tensor& a : program.tensors) {
          for (const Tensor& b : program.tensors) {
            const auto i = static_cast<size_t>(a.id), j = static_cast<size_t>(b.id);
            if (i >= j || a.kind != b.kind || plan.bytes[i] == 0 || plan.bytes[j] == 0) continue;
            const bool together =
                plan.first_step[i] <= plan.last_step[j] && plan.first_step[j] <= plan.last_step[i];
            const bool overlap = plan.offset[i] < plan.offset[j] + plan.bytes[j] &&
                                 plan.offset[j] < plan.offset[i] + plan.bytes[i];
            EXPECT_FALSE(together && overlap) << a.name << " and " << b.name;
          }
        }
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

TEST(MemoryPlan, InPlaceTensorsNeedNoBytesOfTheirOwn) {
  const Program program = plan_program(small_layer(2));
  const MemoryPlan plan = plan_memory(program, 0);
  for (const Step& step : program.steps) {
    if (step.op != Op::AllReduce && step.op != Op::Identity) continue;
    EXPECT_EQ(storage_of(program, step.outputs[0]), storage_of(program, step.inputs[0]));
    EXPECT_EQ(plan.bytes[static_cast<size_t>(step.outputs[0])], 0);
  }
}

TEST(MemoryPlan, LiveBytesNeverExceedTheArena) {
  const Program program = plan_program(small_layer(4, "reversed"));
  const MemoryPlan plan = plan_memory(program, 1);
  for (const BytesByKind& live : plan.live_bytes) {
    for (size_t kind = 0; kind < live.size(); ++kind) EXPECT_LE(live[kind], plan.arena_bytes[kind]);
  }
}

// Where the ranks compute on GPUs for certain, nothing is set aside that they leave alone, and nothing else
// changes.
TEST(MemoryPlan, AttentionsScratchIsPlannedForWhatNeedsIt) {
  for (const DType dtype : {DType::Fp32, DType::Bf16}) {
    for (const Recompute recompute : {Recompute::None, Recompute::Selective}) {
      Settings settings = testing::small_model(2);
      settings.dtype = dtype;
      settings.recompute = recompute;
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

}  // namespace
}  // namespace shardlens
