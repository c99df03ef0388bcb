// The reported memory and GPUs of this machine; no thread waits for them.
#include "engine/runtime/session/machine_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace shardlens {
namespace machine_watch_test {

TEST(MachineWatch, TellsTheMemoryOfTheMachineAndOfThisProcess) {
  const MachineFacts facts = ask_machine();
  EXPECT_TRUE(facts.known);
  EXPECT_GT(facts.memory_bytes, 0);
  EXPECT_GT(facts.free_bytes, 0);
  EXPECT_LE(facts.free_bytes, facts.memory_bytes);
  EXPECT_GT(facts.process_bytes, 0);
  EXPECT_LT(facts.process_bytes, facts.memory_bytes);
  EXPECT_EQ(facts.gpus.gpus.empty(), !facts.gpus.why_no_gpu.empty()) << "GPUs, or why there are none";
}

TEST(MachineWatch, ThisProcessGrowsByWhatItTouches) {
  constexpr size_t kBytes = size_t{64} << 20;
  const int64_t before = ask_machine().process_bytes;
  const std::vector<char> touched(kBytes, 1);
  EXPECT_GT(ask_machine().process_bytes, before + static_cast<int64_t>(touched.size() / 2));
}

TEST(MachineWatch, AsksWhenItIsAskedAndNotOftenerThanThat) {
  MachineWatch watch;
  const auto nothing = watch.facts();
  ASSERT_NE(nothing, nullptr);
  EXPECT_FALSE(nothing->known);
  watch.look();
  const auto first = watch.wait_until_idle(60);
  EXPECT_TRUE(first->known);
  watch.look(3600);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(watch.facts(), first) << "it is new enough";
  watch.look(0);
  EXPECT_NE(watch.wait_until_idle(60), first);
}

}  // namespace machine_watch_test
}  // namespace shardlens
