// How many calls a rank makes to the driver, which serves one thread at a time: marks, look-ups, launches of
// updates, copies. On GPUs whose ranks are slower than their work, a pass takes as long as these calls.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/device/cuda/cuda_device.h"
#include "engine/runtime/asked_steps.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/world.h"
#include "tests/cuda_on_host/played_ranks.h"
#include "tests/cuda_on_host/streams.h"
#include "tests/engine/expect_in_order.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace {

constexpr double kPatienceSeconds = 300;
constexpr int kClockTries = 5;

/// What was counted since it was made.
class Since {
 public:
  explicit Since(const std::atomic<int>& counter) : counter_(counter), before_(counter) {}
  int count() const { return counter_ - before_; }

 private:
  const std::atomic<int>& counter_;
  const int before_;
};

int count_of(const Program& program, const auto& is_counted) {
  return static_cast<int>(std::count_if(program.steps.begin(), program.steps.end(), is_counted));
}
bool is_update(const Step& step) {
  return step.op == Op::AdamW;
}
bool meets(const Step& step) {
  return is_collective(step.op);
}

/// What a rank asks its device for by itself: an update is one call with those that follow it.
int calls_of(const Program& program) {
  return count_of(program, [](const Step& step) { return !is_update(step); }) + 1;
}

/// Ranks that share a GPU and have done a pass.
struct Ranks {
  explicit Ranks(const Settings& settings)
      : plan(make_plan(settings)),
        executor(plan, take_local_seats(plan, std::make_shared<PlayedRanks>(true, kPatienceSeconds)),
                 nullptr) {
    pass(true);
  }
  void pass(bool traced) {
    executor.set_traced(traced);
    executor.next_pass();
    go_to(executor.steps());
  }
  void go_to(size_t target) {
    executor.start(target);
    executor.wait();
  }

  const std::shared_ptr<const Plan> plan;
  Executor executor;
};

TEST(DriverCalls, ABoundaryHasOneMarkAndABurstOneWait) {
  constexpr int kMost = AskedSteps::kMost, kStill = AskedSteps::kStill;
  Settings settings = testing::small_model(1);
  settings.model.layers = 8;
  const auto plan = make_plan(settings);
  const std::vector<Step>& steps = plan->program.steps;
  ASSERT_GT(steps.size(), AskedSteps::kMost + 1);
  const std::unique_ptr<Device> device = make_cuda_device(0);
  void* const memory = device->allocate(1);
  AskedSteps asked(plan->program, *device->behind());
  asked.keep_time(0, true);
  const auto ask = [&](size_t step) {
    asked.ask({&steps[step], 1}, true, [&] { return device->set_zero(memory, 1), StepEvent(); });
  };
  const Since records(on_host::event_records);
  for (size_t step = 0; step <= kMost; ++step) ask(step);
  EXPECT_EQ(records.count(), kMost + 1 + 1);
  const Since waits(on_host::event_synchronizes), times(on_host::elapsed_times);
  StepId at = -1;
  double end = 0;
  int done = 0;
  asked.look_up(kStill, at, [&](StepId first, StepId last, const StepEvent& event) {
    EXPECT_EQ(first, done++);
    EXPECT_EQ(last, first);
    EXPECT_TRUE(first == 0 || event.begin_seconds == end) << first;
    EXPECT_LE(event.begin_seconds, event.end_seconds);
    end = event.end_seconds;
  });
  EXPECT_EQ(done, kMost + 1 - kStill);
  EXPECT_EQ(waits.count(), 1);
  EXPECT_EQ(times.count(), done + 1);
  device->release(memory);
}

// Ranks want to know of each other when they came to a collective.
TEST(DriverCalls, APassOfSeveralRanksIsLookedUpByFewCalls) {
  constexpr int kRanks = 3;
  Ranks ranks(testing::small_model(kRanks));
  const Program& program = ranks.plan->program;
  const int calls = calls_of(program), collectives = count_of(program, meets);
  const int beside = count_of(program, [](const Step& step) { return step.overlapped; });
  const int bursts = calls / static_cast<int>(AskedSteps::kMost + 1 - AskedSteps::kStill) + 1;
  ASSERT_GT(collectives, 10);
  const Since waits(on_host::event_synchronizes), times(on_host::elapsed_times);
  ranks.pass(true);
  const int copies = 1;  // of the inputs
  EXPECT_LE(waits.count(), kRanks * (bursts + collectives + kClockTries + copies));
  EXPECT_LE(times.count(), kRanks * (calls + 1 + beside + (kRanks - 1) * collectives));
  EXPECT_GE(times.count(), kRanks * (calls + 1));
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(ranks.executor.trace(rank).finished(), program.steps.size());
    testing::expect_in_order(program, ranks.executor.trace(rank));
  }
}

// They are the last steps of a pass.
TEST(DriverCalls, UpdatesShareALaunchTracedOrNot) {
  Ranks ranks(testing::small_model(1));
  const std::vector<Step>& steps = ranks.plan->program.steps;
  const auto first = static_cast<size_t>(std::find_if(steps.begin(), steps.end(), is_update) - steps.begin());
  const auto updates = static_cast<int>(steps.size() - first);
  ASSERT_EQ(count_of(ranks.plan->program, is_update), updates);
  constexpr int kMostInALaunch = 54;
  for (const bool traced : {true, false}) {
    ranks.executor.set_traced(traced);
    ranks.executor.next_pass();
    ranks.go_to(first);
    const Since launches(on_host::launches);
    ranks.go_to(steps.size());
    EXPECT_EQ(launches.count(), (updates + kMostInALaunch - 1) / kMostInALaunch) << "traced " << traced;
  }
}

TEST(DriverCalls, APassIsFedByOneCopyAndNoStreamIsWaitedFor) {
  Ranks ranks(testing::small_bert(1));
  EXPECT_GT(std::ranges::count_if(ranks.plan->program.tensors,
                                  [](const Tensor& tensor) { return tensor.kind == MemoryKind::Input; }),
            3);
  ranks.executor.set_traced(false);
  ranks.executor.next_pass();
  const Since copies(on_host::copies), waits(on_host::stream_synchronizes);
  ranks.go_to(1);
  EXPECT_EQ(copies.count(), 1);
  EXPECT_EQ(waits.count(), 0);
}

}  // namespace
}  // namespace shardlens
