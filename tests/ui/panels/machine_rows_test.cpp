// Rows of memories and links. The facts are invented, so machines with GPUs are tested without a GPU.
#include "ui/panels/machine_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/session/machine_watch.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/memory/memory_view.h"

namespace shardlens::ui {
namespace machine_rows_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kGiB = int64_t{1} << 30;

MachineFacts machine_with(int gpus, const std::string& link = "NVLink") {
  MachineFacts facts;
  facts.known = true;
  facts.memory_bytes = 128 * kGiB;
  facts.free_bytes = 100 * kGiB;
  facts.process_bytes = 3 * kGiB;
  for (int number = 0; number < gpus; ++number) {
    Gpu gpu;
    gpu.number = number;
    gpu.name = "NVIDIA H200";
    gpu.memory_bytes = 139 * kGiB;
    gpu.used_bytes = (number + 1) * kGiB;
    facts.gpus.gpus.push_back(gpu);
    for (int other = 0; other < number; ++other) facts.gpus.links.push_back({other, number, link});
  }
  facts.gpus.nccl_version = 22809;
  if (gpus == 0) facts.gpus.why_no_gpu = "there is no NVIDIA driver";
  return facts;
}

std::shared_ptr<const Plan> plan_on(BackendChoice backend, int tp) {
  Settings settings = small_settings();
  settings.tp = tp;
  settings.backend = backend;
  return make_plan(settings);
}

TEST(MachineRows, WithoutAGpuTheMachinesOwnMemoryIsShownAndWhyThereIsNone) {
  const auto plan = plan_on(BackendChoice::Cpu, 4);
  const MachineRows rows = machine_rows(machine_with(0), plan.get());
  ASSERT_EQ(rows.memories.size(), 1u);
  const MemoryRow& own = rows.memories.front();
  EXPECT_EQ(own.teller, "the operating system");
  EXPECT_EQ(own.used_bytes, 28 * kGiB);
  EXPECT_EQ(own.free_bytes(), 100 * kGiB);
  EXPECT_EQ(own.process_bytes, 3 * kGiB);
  EXPECT_EQ(own.planned_bytes, run_bytes(*plan)) << "what the run is refused by, where it does not fit";
  EXPECT_THAT(own.ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(own.is_exceeded());
  EXPECT_EQ(rows.no_gpu, "No GPU can be used here: there is no NVIDIA driver.");
  EXPECT_THAT(rows.links, IsEmpty());
}

TEST(MachineRows, APlanThatIsLargerThanTheMachineSaysSo) {
  Settings settings = small_settings();
  settings.model = model_preset("gpt-1t");
  settings.block = Block::Model;
  settings.tp = 8;
  const auto plan = make_plan(settings);
  const MachineRows rows = machine_rows(machine_with(0), plan.get());
  ASSERT_EQ(rows.memories.size(), 1u);
  EXPECT_TRUE(rows.memories.front().is_exceeded());
}

TEST(MachineRows, EveryGpuHasItsRankAndTheDriversWordBesideOurs) {
  const auto plan = plan_on(BackendChoice::Cuda, 2);
  const MachineRows rows = machine_rows(machine_with(2), plan.get());
  ASSERT_EQ(rows.memories.size(), 3u);
  for (int gpu = 0; gpu < 2; ++gpu) {
    const MemoryRow& row = rows.memories[static_cast<size_t>(gpu)];
    EXPECT_EQ(row.name, "GPU " + std::to_string(gpu) + ": NVIDIA H200");
    EXPECT_EQ(row.teller, "the driver");
    EXPECT_EQ(row.used_bytes, (gpu + 1) * kGiB);
    EXPECT_THAT(row.ranks, ElementsAre(gpu));
    EXPECT_EQ(row.planned_bytes, total_bytes(plan->memory[static_cast<size_t>(gpu)].arena_bytes));
  }
  EXPECT_THAT(rows.memories.back().ranks, IsEmpty()) << "nobody computes on the CPU";
  EXPECT_EQ(rows.memories.back().planned_bytes, 0);
  EXPECT_THAT(rows.links, ElementsAre("GPU 0 – GPU 1: NVLink"));
  EXPECT_THAT(rows.no_gpu, IsEmpty());
}

TEST(MachineRows, RanksThatShareAGpuAreSummedThere) {
  const auto plan = plan_on(BackendChoice::Cuda, 4);
  const MachineRows rows = machine_rows(machine_with(1), plan.get());
  EXPECT_THAT(rows.memories.front().ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(rows.memories.front().planned_bytes, run_bytes(*plan));
}

TEST(MachineRows, WhatNobodyCanRunIsPlannedNowhere) {
  const auto plan = plan_on(BackendChoice::Cuda, 2);
  const MachineRows rows = machine_rows(machine_with(0), plan.get());
  EXPECT_THAT(rows.memories.front().ranks, IsEmpty());
  const auto fallen_back = plan_on(BackendChoice::Auto, 2);
  EXPECT_THAT(machine_rows(machine_with(0), fallen_back.get()).memories.front().ranks, ElementsAre(0, 1));
}

TEST(MachineRows, ADriverThatDoesNotSayAndAMachineThatWasNotAskedAreNotZero) {
  MachineFacts silent = machine_with(1);
  silent.gpus.gpus.front().used_bytes = -1;
  EXPECT_EQ(machine_rows(silent, nullptr).memories.front().free_bytes(), -1);
  const MachineRows unasked = machine_rows({}, nullptr);
  EXPECT_EQ(unasked.memories.front().used_bytes, -1);
  EXPECT_THAT(unasked.no_gpu, IsEmpty()) << "it is not known yet";
}

TEST(MachineRows, ManyPairsAreToldByTheirKind) {
  EXPECT_THAT(machine_rows(machine_with(8), nullptr).links, ElementsAre("All 28 pairs: NVLink"));
  MachineFacts mixed = machine_with(8);
  mixed.gpus.links.back().kind = "PCIe";
  EXPECT_THAT(machine_rows(mixed, nullptr).links, ElementsAre("27 of 28 pairs: NVLink", "PCIe: 6–7"));
}

TEST(MachineRows, GpusAndRanksInWords) {
  EXPECT_EQ(gpus_words(machine_with(1).gpus), "GPU 0: NVIDIA H200, 139 GiB");
  EXPECT_EQ(gpus_words(machine_with(8).gpus), "8 GPUs: NVIDIA H200, 139 GiB each, joined by NVLink");
  EXPECT_EQ(ranks_text({2}), "rank 2");
  EXPECT_EQ(ranks_text({0, 2}), "ranks 0 and 2");
  EXPECT_EQ(ranks_text({0, 1, 2, 3}), "ranks 0 to 3");
  EXPECT_EQ(ranks_text({0, 1, 5}), "ranks 0, 1 and 5");
}

TEST(MachineRows, TheMemoryTabShowsTheMachine) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.view().tab = Tab::Memory;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Memory/page/this machine"); });
  EXPECT_TRUE(harness.view().of<MemoryView>().this_machine);
  // Asked because it is looked at, and answered by a thread of its own.
  EXPECT_TRUE(harness.studio().machine().wait_until_idle(120)->known);
  harness.draw_frames(1);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Memory/page/this layer"); });
  EXPECT_FALSE(harness.view().of<MemoryView>().this_machine);
  EXPECT_TRUE(harness.view().of<MemoryView>().this_layer);
}

}  // namespace machine_rows_test
}  // namespace shardlens::ui
