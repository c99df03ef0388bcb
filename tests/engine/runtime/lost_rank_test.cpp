// A rank hangs, comes too late or is slow: every other rank and the caller get the same message in time, and
// none waits for a thread that never ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/runtime/hanging_rank.h"
#include "engine/runtime/rank_team.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace lost_rank_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::small_layer;
using testing::small_model;
using ::testing::StartsWith;

constexpr double kTimeoutSeconds = 0.2;
// Of a machine that does something else meanwhile: a hang is for ever, so this says nothing about speed.
constexpr double kPatienceOfTheTest = 60;

// What the run ended with.
RunFailed failure_of(Executor& executor) {
  try {
    executor.start(executor.steps());
    executor.wait();
  } catch (const RunFailed& error) {
    return error;
  }
  throw std::logic_error("the run ended well");
}

void wait_until_no_rank_is_abandoned() {
  const double begin = now_seconds();
  while (abandoned_threads() > 0 && now_seconds() - begin < kPatienceOfTheTest)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(abandoned_threads(), 0);
}

Settings impatient(Settings settings) {
  settings.timeout_seconds = kTimeoutSeconds;
  return settings;
}

StepId step_named(const Program& program, const std::string& name) {
  for (const Step& step : program.steps) {
    if (step.name == name) return step.id;
  }
  throw std::logic_error("no step " + name);
}

StepId first_collective_after(const Program& program, StepId step) {
  for (const Step& one : program.steps) {
    if (one.id > step && is_collective(one.op)) return one.id;
  }
  return -1;
}

TEST(LostRank, AHangingRankIsNamedWithItsStepAndTheCollectiveTheOthersWaitIn) {
  const auto plan = make_plan(impatient(small_layer(3)));
  const Program& program = plan->program;
  const StepId step = step_named(program, "mlp.fc");
  const Step& collective = program.step(first_collective_after(program, step));
  const Tensor& sum = program.tensor(collective.outputs[0]);
  const auto hang = std::make_shared<HangingRank>(1, 3, step);
  {
    Executor executor(plan);
    executor.observe({hang});
    const RunFailed error = failure_of(executor);
    EXPECT_EQ(error.kind(), ErrorKind::Run);
    EXPECT_EQ(error.failure().ranks, std::vector{1});
    EXPECT_EQ(error.failure().step, collective.id);
    EXPECT_TRUE(error.failure().lost);
    EXPECT_THAT(error.what(),
                AllOf(StartsWith("rank 1 is lost"), HasSubstr("step " + std::to_string(collective.id)),
                      HasSubstr(to_string(collective.op) + " of " + sum.name + " " + to_string(sum.shape)),
                      HasSubstr("time-out 0.2 s"),
                      HasSubstr("it has been in step " + std::to_string(step) + " (mlp.fc")));
    // What follows tells the same.
    EXPECT_THROW(executor.wait(), RunFailed);
  }
  // The executor has gone, the rank has not.
  EXPECT_EQ(abandoned_threads(), 1);
  hang->let_go();
  wait_until_no_rank_is_abandoned();
}

TEST(LostRank, TheCallerMissesARankThatHangsAfterTheLastCollective) {
  const auto plan = make_plan(impatient(small_layer(2)));
  const StepId last = static_cast<StepId>(plan->program.steps.size()) - 1;
  const auto hang = std::make_shared<HangingRank>(0, 2, last);
  {
    Executor executor(plan);
    executor.observe({hang});
    const RunFailed error = failure_of(executor);
    EXPECT_EQ(error.failure().ranks, std::vector{0});
    EXPECT_TRUE(error.failure().lost);
    EXPECT_THAT(error.what(), StartsWith("rank 0 is lost"));
  }
  hang->let_go();
  wait_until_no_rank_is_abandoned();
}

TEST(LostRank, WhoComesBeforeTheTimeOutIsOnlyLate) {
  Settings settings = small_layer(2);
  settings.delays = {{1, "attn.proj", 300}};
  settings.timeout_seconds = 30;
  Executor executor(make_plan(settings));
  executor.start(executor.steps());
  EXPECT_NO_THROW(executor.wait());
}

TEST(LostRank, WhoComesAfterTheTimeOutIsLostAndHeldUpOnPurposeIsSaid) {
  Settings settings = impatient(small_layer(2));
  settings.delays = {{1, "attn.proj", 50'000}};
  const double begin = now_seconds();
  {
    Executor executor(make_plan(settings));
    const RunFailed error = failure_of(executor);
    EXPECT_EQ(error.failure().ranks, std::vector{1});
    EXPECT_THAT(error.what(), HasSubstr("it is held up on purpose for 50 s before step"));
  }
  // A rank that stands still hears that the run is over.
  EXPECT_LT(now_seconds() - begin, 40);
  EXPECT_EQ(abandoned_threads(), 0);
}

TEST(LostRank, NobodyIsLostWhileTheRunIsPaused) {
  const auto plan = make_plan(impatient(small_layer(3)));
  Executor executor(plan);
  for (const size_t stop : {size_t{0}, plan->program.steps.size() / 2}) {
    executor.start(stop);
    executor.wait();
    std::this_thread::sleep_for(std::chrono::duration<double>(3 * kTimeoutSeconds));
  }
  executor.start(executor.steps());
  EXPECT_NO_THROW(executor.wait());
}

TEST(LostRank, WithoutATimeOutItIsWaitedFor) {
  Settings settings = small_layer(2);
  settings.timeout_seconds = 0;
  const auto hang = std::make_shared<HangingRank>(1, 2, 3);
  Executor executor(make_plan(settings));
  executor.observe({hang});
  executor.start(executor.steps());
  EXPECT_FALSE(executor.wait_for(3 * kTimeoutSeconds));
  hang->let_go();
  EXPECT_NO_THROW(executor.wait());
}

TEST(LostRank, ARankThatThrowsIsNamedAndNotLost) {
  class Saboteur : public StepObserver {
    void on_tensor(int rank, StepId step, const Tensor&, const void*) override {
      if (rank == 1 && step == 4) throw std::runtime_error("planted");
    }
  };
  Executor executor(make_plan(small_layer(3)));
  executor.observe({std::make_shared<Saboteur>()});
  const RunFailed error = failure_of(executor);
  EXPECT_EQ(error.failure().ranks, std::vector{1});
  EXPECT_EQ(error.failure().step, 4);
  EXPECT_FALSE(error.failure().lost);
}

// A whole model on T = 3, D = 2, with and without overlapped sums, hangs at random moments. SHARDLENS_STRESS
// says how often; the seed is in the message of what fails.
TEST(LostRank, AtRandomMomentsTheLostRankIsNamed) {
  const char* wanted = std::getenv("SHARDLENS_STRESS");
  const int rounds = wanted ? std::atoi(wanted) : 60;
  int named = 0;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937 draw(static_cast<unsigned>(round));
    Settings settings = impatient(small_model(3, 2));
    if (round % 3 == 1) settings.overlap_chunks = 2;
    if (round % 3 == 2) settings.recompute = Recompute::Full;
    const auto plan = make_plan(settings);
    const int lost = static_cast<int>(draw() % 6);
    const auto step = static_cast<StepId>(draw() % plan->program.steps.size());
    const auto hang = std::make_shared<HangingRank>(lost, 3, step);
    SCOPED_TRACE(::testing::Message() << "round " << round << ", rank " << lost << " after step " << step
                                      << " (" << plan->program.step(step).name << ")");
    const double begin = now_seconds();
    {
      Executor executor(plan);
      executor.observe({hang});
      const RunFailed error = failure_of(executor);
      ASSERT_TRUE(hang->has_hung());
      EXPECT_EQ(error.failure().ranks, std::vector{lost}) << error.what();
      EXPECT_THAT(error.what(),
                  HasSubstr("rank " + std::to_string(lost % 3) + " of replica " + std::to_string(lost / 3)));
      named += error.failure().ranks == std::vector{lost};
    }
    EXPECT_LT(now_seconds() - begin, kPatienceOfTheTest);
    hang->let_go();
    wait_until_no_rank_is_abandoned();
  }
  RecordProperty("rounds", rounds);
  RecordProperty("named", named);
  std::printf("%d of %d lost ranks were named\n", named, rounds);
}

}  // namespace lost_rank_test
}  // namespace shardlens
