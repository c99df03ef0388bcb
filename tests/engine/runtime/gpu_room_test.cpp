// Plans that need more memory than a GPU has free, with invented facts of machines.
#include "engine/runtime/gpu_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/runtime/plan.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace gpu_room_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GpuFacts machine(const std::vector<int64_t>& used_bytes, int64_t memory_bytes = 1000) {
  GpuFacts facts;
  facts.nccl_version = kNcclSharesGpus;
  for (const int64_t used : used_bytes) {
    Gpu gpu;
    gpu.number = static_cast<int>(facts.gpus.size());
    gpu.bus = "bus " + std::to_string(gpu.number);
    gpu.memory_bytes = memory_bytes;
    gpu.used_bytes = used;
    gpu.mps = true;
    facts.gpus.push_back(gpu);
  }
  return facts;
}

Settings wish(int tp, int dp = 1) {
  Settings settings;
  settings.tp = tp;
  settings.dp = dp;
  settings.batch = 4;
  settings.seq = 8;
  settings.backend = BackendChoice::Cuda;
  return settings;
}

// A recording says on what it was made, also when the card and not the processor computed.
TEST(MachineDescription, BeginsWithTheCardsThatRanksComputeOn) {
  GpuFacts facts = machine({0, 0, 0});
  facts.gpus[0].name = facts.gpus[1].name = "NVIDIA H200";
  facts.gpus[2].name = "NVIDIA A100";
  Settings settings;
  EXPECT_EQ(machine_description(settings, facts), "NVIDIA H200, NVIDIA A100, " + machine_description());
  settings.gpus = {0, 1};
  EXPECT_EQ(machine_description(settings, facts), "NVIDIA H200, " + machine_description());
  EXPECT_EQ(machine_description(settings, GpuFacts{}), machine_description());
}

TEST(GpuRoom, IsThatOfTheGpusThatRanksAreOn) {
  const GpuFacts facts = machine({900, -1, 400});  // of the second the driver does not say
  Settings settings = wish(3);
  settings.gpus = {2, 1};
  const auto rooms = gpu_rooms(settings, choose(settings, facts), facts);
  ASSERT_EQ(rooms.size(), 2u);
  EXPECT_EQ(rooms[0].name, "GPU 2");
  EXPECT_THAT(rooms[0].ranks, ElementsAre(0, 2));
  EXPECT_EQ(rooms[0].free_bytes, 600);
  EXPECT_EQ(rooms[1].name, "GPU 1");
  EXPECT_THAT(rooms[1].ranks, ElementsAre(1));
  EXPECT_EQ(rooms[1].free_bytes, 1000);
  settings.backend = BackendChoice::Cpu;
  settings.gpus = {};
  EXPECT_THAT(gpu_rooms(settings, choose(settings, facts), facts), IsEmpty());
}

TEST(GpuRoom, OfProcessesIsByMachineAndByWhomItLooksFullest) {
  // Processes 0 and 1 are on a and see one GPU each, the same; process 2 is on b.
  std::vector<ProcessFacts> ranks = {
      {0, "a", machine({100})}, {1, "a", machine({300})}, {2, "b", machine({0})}};
  const auto rooms = gpu_rooms(wish(3), choose_over_processes(wish(3), ranks), ranks);
  ASSERT_EQ(rooms.size(), 2u);
  EXPECT_EQ(rooms[0].name, "GPU 0 of a");
  EXPECT_THAT(rooms[0].ranks, ElementsAre(0, 1));
  EXPECT_EQ(rooms[0].free_bytes, 700);
  EXPECT_EQ(rooms[1].name, "GPU 0 of b");
  EXPECT_THAT(rooms[1].ranks, ElementsAre(2));
  // The same number is another GPU where its place says so.
  ranks[1].facts.gpus.front().bus = "another";
  ranks.pop_back();
  const auto each = gpu_rooms(wish(2), choose_over_processes(wish(2), ranks), ranks);
  ASSERT_EQ(each.size(), 2u);
  EXPECT_EQ(each[1].name, "GPU 0");
  EXPECT_EQ(each[1].free_bytes, 700);
}

// Rank 0 of two needs 30 bytes a batch, rank 1 needs 20.
std::vector<int64_t> needs(const Settings& settings) {
  if (settings.tp == 1) return {50 * settings.batch};
  return {30 * settings.batch, 20 * settings.batch};
}

std::string refusal(const Settings& settings, const std::vector<GpuRoom>& rooms) {
  try {
    refuse_if_gpus_too_full(settings, rooms, needs);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
  return "";
}

TEST(GpuRoom, ALargerPlanIsRefusedWithFiguresOfTheFullestGpu) {
  const Settings settings = wish(2, 2);  // 120 and 80 bytes, of two replicas
  EXPECT_EQ(refusal(settings, {{"GPU 0", {0, 1, 2, 3}, 400}}), "");
  const std::string shared = refusal(settings, {{"GPU 0", {0, 1, 2, 3}, 399}});
  EXPECT_THAT(
      shared,
      HasSubstr("at batch 4, sequence 8 needs 400 bytes on GPU 0, where ranks 0, 1, 2, 3 need "
                "120 bytes each, and 399 bytes are free. The largest that fits at sequence 8 is batch "
                "3, with 300 bytes; or let fewer ranks share a GPU."));
  const std::string second =
      refusal(settings, {{"GPU 0 of a", {0, 2}, 239}, {"GPU 0 of b", {1, 3}, 100}, {"GPU 1 of b", {}, 0}});
  EXPECT_THAT(
      second,
      HasSubstr("needs 160 bytes on GPU 0 of b, where ranks 1, 3 need 80 bytes each, and 100 bytes are "
                "free"));
  EXPECT_THAT(refusal(settings, {{"GPU 0 of a", {0, 2}, 239}, {"GPU 0 of b", {1, 3}, 160}}),
              HasSubstr("needs 240 bytes on GPU 0 of a"));
  EXPECT_THAT(
      refusal(wish(1), {{"GPU 3", {0}, 199}}),
      HasSubstr("needs 200 bytes on GPU 3, where rank 0 is, and 199 bytes are free. The largest that fits at "
                "sequence 8 is batch 3, with 150 bytes; or choose an emptier GPU by --gpu, or a larger T."));
}

TEST(GpuRoom, WhatIsNotKnownRefusesNobody) {
  const GpuFacts facts = machine({0}, 0);
  const auto rooms = gpu_rooms(wish(1), choose(wish(1), facts), facts);
  ASSERT_EQ(rooms.size(), 1u);
  EXPECT_EQ(rooms[0].free_bytes, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(refusal(wish(1), rooms), "");
}

// A context a process, scratch a rank, and NCCL's buffers a rank in every group it is in.
TEST(GpuRoom, CountsWhatCudaAndNcclTake) {
  const auto reserve = [](const Settings& settings, const GpuFacts& facts) {
    return gpu_rooms(settings, choose(settings, facts), facts).front();
  };
  const int64_t process = kContextBytes + kKernelsBytes;
  EXPECT_EQ(reserve(wish(1), machine({0})).reserve_bytes, process + kGpuScratchBytes);
  // Two ranks on one GPU, by NCCL: one context, two times the rest.
  EXPECT_EQ(reserve(wish(2), machine({0})).reserve_bytes, process + 2 * (kGpuScratchBytes + kNcclGroupBytes));
  Settings in_two_groups = wish(2, 2);
  in_two_groups.communicator = CommunicatorChoice::Nccl;
  EXPECT_EQ(reserve(in_two_groups, machine({0})).reserve_bytes,
            process + 4 * (kGpuScratchBytes + 2 * kNcclGroupBytes));
  EXPECT_EQ(reserve(in_two_groups, machine({0, 0})).reserve_bytes,
            process + 2 * (kGpuScratchBytes + 2 * kNcclGroupBytes));
  Settings few_keys = wish(4);
  few_keys.model.kv_heads = 2;
  few_keys.communicator = CommunicatorChoice::Nccl;
  EXPECT_EQ(reserve(few_keys, machine({0})).reserve_bytes,
            process + 4 * (kGpuScratchBytes + 2 * kNcclGroupBytes));
  // Our own kernel has no buffers.
  Settings own = wish(2);
  own.communicator = CommunicatorChoice::LocalCuda;
  EXPECT_EQ(reserve(own, machine({0})).reserve_bytes, process + 2 * kGpuScratchBytes);
  // A context that is there is among the used bytes; kernels not launched yet are not.
  GpuFacts there = machine({300});
  there.gpus.front().context_bytes = 300;
  EXPECT_EQ(reserve(own, there).reserve_bytes, kKernelsBytes + 2 * kGpuScratchBytes);
}

// Of a vocabulary cut in two, each rank's half of the logits of all tokens becomes the whole on both.
TEST(GpuRoom, CountsWhatNcclPacks) {
  Settings settings = testing::small_model(2);
  settings.split.loss = LossForm::Gather;
  const Program program = plan_program(settings);
  const auto gather = std::find_if(program.steps.begin(), program.steps.end(),
                                   [](const Step& step) { return step.op == Op::AllGather; });
  ASSERT_NE(gather, program.steps.end());
  EXPECT_EQ(packed_copy_bytes(program, 0), program.tensor(gather->outputs[0]).bytes());
  settings.split.loss = LossForm::Fused;
  EXPECT_EQ(packed_copy_bytes(plan_program(settings), 0), 0);
  // Of a sum of 16-bit values each rank takes half of the places, and copies the other rank's terms of it.
  settings.dtype = DType::Bf16;
  const Program half = plan_program(settings);
  int64_t largest = 0;
  for (const Step& step : half.steps)
    if (step.op == Op::AllReduce && half.tensor(step.outputs[0]).dtype == DType::Bf16)
      largest = std::max(largest, half.tensor(step.outputs[0]).bytes());
  EXPECT_GT(largest, 0);
  constexpr int64_t kLine = 64;  // the half ends with a cache line
  EXPECT_EQ(packed_copy_bytes(half, 0), (largest / 2 + kLine - 1) / kLine * kLine);
}

TEST(GpuRoom, ByNcclSaysSo) {
  const auto by_nccl = [](const Settings& settings) {
    const GpuFacts facts = machine({0});
    return gpu_rooms(settings, choose(settings, facts), facts).front().by_nccl;
  };
  EXPECT_TRUE(by_nccl(wish(2)));
  EXPECT_FALSE(by_nccl(wish(1)));
}

TEST(GpuRoom, EveryProcessHasAContextOfItsOwn) {
  const std::vector<ProcessFacts> ranks = {{0, "a", machine({0})}, {1, "a", machine({0})}};
  const auto rooms = gpu_rooms(wish(2), choose_over_processes(wish(2), ranks), ranks);
  ASSERT_EQ(rooms.size(), 1u);
  EXPECT_EQ(rooms.front().reserve_bytes,
            2 * (kContextBytes + kKernelsBytes + kGpuScratchBytes + kNcclGroupBytes));
}

TEST(GpuRoom, WhatIsSetAsideIsNotForTheRanksAndIsSaid) {
  const GpuRoom fits{"GPU 0", {0, 1, 2, 3}, 500, 100};
  EXPECT_EQ(refusal(wish(2, 2), {fits}), "");
  GpuRoom one_less = fits;
  one_less.free_bytes = 499;
  EXPECT_THAT(
      refusal(wish(2, 2), {one_less}),
      HasSubstr(
          "needs 400 bytes on GPU 0, where ranks 0, 1, 2, 3 need 120 bytes each and 100 bytes more are set "
          "aside for CUDA and NCCL (an estimate), and 399 bytes are free."));
  EXPECT_THAT(
      refusal(wish(1), {{"GPU 3", {0}, 60, 70}}),
      HasSubstr("needs 200 bytes on GPU 3, where rank 0 is and 70 bytes more are set aside for CUDA and NCCL "
                "(an estimate), and 0 bytes are free."));
}

TEST(MemoryDemand, IsOfTheTightestPlace) {
  // 1,000 bytes are free here, 300 and 250 on the GPUs, where two and one rank take 100 each.
  const std::vector<GpuRoom> rooms = {{"GPU 0", {0, 1}, 320, 20}, {"GPU 1", {2}, 250}};
  const auto demand = [&](const std::vector<int64_t>& ranks, int64_t host) {
    const MemoryDemand tightest = tightest_demand(rooms, ranks, host, 1000);
    return tightest.place + ": " + std::to_string(tightest.needed_bytes) + " of " +
           std::to_string(tightest.free_bytes);
  };
  EXPECT_EQ(demand({100, 100, 100}, 0), " on GPU 0: 200 of 300");
  EXPECT_EQ(demand({100, 100, 240}, 0), " on GPU 1: 240 of 250");
  EXPECT_EQ(demand({100, 100, 100}, 901), ": 901 of 1000");
  EXPECT_EQ(demand({100, 250, 100}, 999), " on GPU 0: 350 of 300");
  // On CPUs ranks and what is kept beside them have one memory.
  const MemoryDemand host = tightest_demand({}, {100, 100, 100}, 50, 1000);
  EXPECT_EQ(host.place, "");
  EXPECT_EQ(host.needed_bytes, 350);
  EXPECT_EQ(host.lacking_bytes(), -650);
}

}  // namespace gpu_room_test
}  // namespace shardlens
