// Plans larger than what is free on a GPU, by made-up facts of machines.
#include "engine/runtime/gpu_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/config/error.h"

namespace shardlens {
namespace {

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

TEST(GpuRoom, IsThatOfTheGpusThatRanksAreOn) {
  const GpuFacts facts = machine({900, -1, 400});  // of the second the driver does not say
  Settings settings = wish(3);
  settings.gpus = {2, 1};
  const auto rooms = gpu_rooms(choose(settings, facts), facts);
  ASSERT_EQ(rooms.size(), 2u);
  EXPECT_EQ(rooms[0].name, "GPU 2");
  EXPECT_THAT(rooms[0].ranks, ElementsAre(0, 2));
  EXPECT_EQ(rooms[0].free_bytes, 600);
  EXPECT_EQ(rooms[1].name, "GPU 1");
  EXPECT_THAT(rooms[1].ranks, ElementsAre(1));
  EXPECT_EQ(rooms[1].free_bytes, 1000);
  settings.backend = BackendChoice::Cpu;
  settings.gpus = {};
  EXPECT_THAT(gpu_rooms(choose(settings, facts), facts), IsEmpty());
}

TEST(GpuRoom, OfProcessesIsByMachineAndByWhomItLooksFullest) {
  // Processes 0 and 1 are on a and see one GPU each, the same; process 2 is on b.
  std::vector<ProcessFacts> ranks = {
      {0, "a", machine({100})}, {1, "a", machine({300})}, {2, "b", machine({0})}};
  const auto rooms = gpu_rooms(choose_over_processes(wish(3), ranks), ranks);
  ASSERT_EQ(rooms.size(), 2u);
  EXPECT_EQ(rooms[0].name, "GPU 0 of a");
  EXPECT_THAT(rooms[0].ranks, ElementsAre(0, 1));
  EXPECT_EQ(rooms[0].free_bytes, 700);
  EXPECT_EQ(rooms[1].name, "GPU 0 of b");
  EXPECT_THAT(rooms[1].ranks, ElementsAre(2));
  // The same number is another GPU where its place says so.
  ranks[1].facts.gpus.front().bus = "another";
  ranks.pop_back();
  const auto each = gpu_rooms(choose_over_processes(wish(2), ranks), ranks);
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
  EXPECT_THAT(shared,
              HasSubstr("at batch 4, sequence 8 needs 400 B on GPU 0, where ranks 0, 1, 2, 3 need "
                        "120 B each, and 399 B are free. The largest that fits at sequence 8 is batch "
                        "3, with 300 B; or let fewer ranks share a GPU."));
  const std::string second =
      refusal(settings, {{"GPU 0 of a", {0, 2}, 239}, {"GPU 0 of b", {1, 3}, 100}, {"GPU 1 of b", {}, 0}});
  EXPECT_THAT(second, HasSubstr("needs 160 B on GPU 0 of b, where ranks 1, 3 need 80 B each, and 100 B are "
                                "free"));
  EXPECT_THAT(refusal(settings, {{"GPU 0 of a", {0, 2}, 239}, {"GPU 0 of b", {1, 3}, 160}}),
              HasSubstr("needs 240 B on GPU 0 of a"));
  EXPECT_THAT(
      refusal(wish(1), {{"GPU 3", {0}, 199}}),
      HasSubstr("needs 200 B on GPU 3, where rank 0 is, and 199 B are free. The largest that fits at "
                "sequence 8 is batch 3, with 150 B; or choose an emptier GPU by --gpu, or a larger T."));
}

TEST(GpuRoom, WhatIsNotKnownRefusesNobody) {
  const GpuFacts facts = machine({0}, 0);
  const auto rooms = gpu_rooms(choose(wish(1), facts), facts);
  ASSERT_EQ(rooms.size(), 1u);
  EXPECT_EQ(rooms[0].free_bytes, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(refusal(wish(1), rooms), "");
}

}  // namespace
}  // namespace shardlens
