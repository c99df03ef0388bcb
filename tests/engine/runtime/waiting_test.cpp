// Nothing that waits yields its core, and what has waited for a moment sleeps: on a busy machine a yield
// costs a whole time slice, and a thread that spins takes the core that the awaited one needs. This file
// replaces sched_yield() in the whole test program by one that counts.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/base/waiting.h"
#include "engine/comm/barrier.h"
#include "engine/device/cpu/parallel.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "tests/engine/small_model.h"

namespace {
std::atomic<int> yields{0};
}  // namespace

extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace shardlens {
namespace waiting_test {

double process_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST(Waiting, AYieldIsCounted) {
  const int before = yields;
  std::this_thread::yield();
  EXPECT_EQ(yields, before + 1);
}

TEST(Waiting, NoRankYieldsInTrainingPasses) {
  const Settings settings = testing::small_model(2);
  const auto plan = make_plan(settings);
  Executor executor(plan);
  const int before = yields;
  int pass = 0;
  executor.run_passes([&]() -> std::optional<PassInputs> {
    if (pass++ == 20) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // the other rank waits for its inputs
    PassInputs inputs;
    inputs.batch = std::make_shared<const Batch>(seeded_batch(settings));
    return inputs;
  });
  EXPECT_EQ(yields, before);
}

TEST(Waiting, NoMemberOfABarrierYieldsWhileItWaits) {
  Barrier barrier(2, true);
  const int before = yields;
  std::jthread other([&] {
    for (int round = 0; round < 200; ++round) EXPECT_TRUE(barrier.pass());
  });
  for (int round = 0; round < 200; ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(round));
    EXPECT_TRUE(barrier.pass());
  }
  EXPECT_EQ(yields, before);
}

TEST(Waiting, HelpersSleepWhenThereIsNoWork) {
  const auto nothing = [](int64_t) {};
  cpu::parallel_for(4, 4, nothing);
  const double before = process_cpu_seconds();
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    cpu::parallel_for(4, 4, nothing);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT((process_cpu_seconds() - before) / kRounds, 3e-3) << "seconds of the CPU for each call";
}

TEST(Waiting, AThreadThatLostItsCoreDoesNotWatchForAWhile) {
  CrowdedCore core;
  EXPECT_FALSE(core.is_crowded(10));
  core.note(10, 20e-6);  // an interrupt
  EXPECT_FALSE(core.is_crowded(10));
  core.note(10, 3e-3);  // a time slice of another thread
  EXPECT_TRUE(core.is_crowded(10.01));
  EXPECT_FALSE(core.is_crowded(11));
}

}  // namespace waiting_test
}  // namespace shardlens
