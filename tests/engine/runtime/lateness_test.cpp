// What a late rank costs: computed for schedules with a known answer, and measured in real runs, which
// otherwise do not change.
#include "engine/runtime/lateness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/runtime/gather.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace lateness_test {

using Events = std::vector<std::vector<StepEvent>>;

// A pass on which every step takes `seconds(rank, step)`, all ranks meet, and `late` are held.
Events schedule(const Program& program, const std::vector<PlannedDelay>& late,
                const std::function<double(int, StepId)>& seconds) {
  const int world = program.tp();
  Events events(static_cast<size_t>(world));
  std::vector<double> now(static_cast<size_t>(world), 0.0);
  for (const Step& step : program.steps) {
    for (int rank = 0; rank < world; ++rank) {
      StepEvent event;
      double& clock = now[static_cast<size_t>(rank)];
      for (const PlannedDelay& hold : late)
        if (hold.rank == rank && hold.step == step.id) event.held_seconds += hold.seconds;
      clock += event.held_seconds;
      event.begin_seconds = event.arrival_seconds = clock;
      events[static_cast<size_t>(rank)].push_back(event);
    }
    const double met = *std::max_element(now.begin(), now.end());
    for (int rank = 0; rank < world; ++rank) {
      double& clock = now[static_cast<size_t>(rank)];
      StepEvent& event = events[static_cast<size_t>(rank)].back();
      if (is_collective(step.op)) clock = event.all_arrived_seconds = met;
      clock += seconds(rank, step.id);
      event.end_seconds = clock;
    }
  }
  return events;
}

StepId step_named(const Program& program, const std::string& name) {
  for (const Step& step : program.steps)
    if (step.name == name) return step.id;
  throw std::logic_error(name);
}

TEST(Lateness, WhereAllAreAlikeAllOthersWaitAsLong) {
  const Program program = plan_program(testing::small_layer(4));
  const StepId step = step_named(program, "attn.proj");
  const auto late =
      lateness_of(program, schedule(program, {{2, step, 0.020}}, [](int, StepId) { return 1e-3; }));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].rank, 2);
  EXPECT_EQ(late[0].step, step);
  EXPECT_EQ(late[0].waiting_ranks, 3);
  EXPECT_NEAR(late[0].waited_seconds, 0.060, 1e-9);
  EXPECT_NEAR(late[0].longer_seconds, 0.020, 1e-9);
  EXPECT_EQ(
      to_sentence(program, late[0]),
      "rank 2 was late by 20.0 ms before attn.proj: 3 ranks together waited 60.0 ms longer; without the "
      "delay, the pass would have ended 20.0 ms sooner");
}

// Ranks that are not alike wait for each other every time: only what is added to that is the late one's.
TEST(Lateness, WhatRanksWaitAnywayIsNotPutDownToTheLateOne) {
  const Program program = plan_program(testing::small_layer(4));
  const StepId step = step_named(program, "attn.proj");
  const std::vector<double> took{0.001, 0.011, 0.030, 0.021};
  const Events events = schedule(program, {{2, step, 0.020}}, [&](int rank, StepId at) {
    return at == step ? took[static_cast<size_t>(rank)] : 1e-3;
  });
  double waited = 0;
  for (const auto& rank : events)
    waited += rank[static_cast<size_t>(step_named(program, "all-reduce attn.proj.sum"))].wait_seconds();
  EXPECT_NEAR(waited, 0.117, 1e-9);
  const auto late = lateness_of(program, events);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_NEAR(late[0].waited_seconds, 0.060, 1e-9);
  EXPECT_NEAR(late[0].longer_seconds, 0.020, 1e-9);
  EXPECT_THAT(to_sentence(program, late[0]), ::testing::HasSubstr("3 ranks together waited 60.0 ms longer"));
}

TEST(Lateness, WhatASlowerRankHidesCostsNothing) {
  const Program program = plan_program(testing::small_layer(2));
  const StepId step = step_named(program, "attn.proj");
  // Rank 0 takes 15 ms longer for the same product: rank 1 would have waited for it.
  const auto slow = [&](double more) {
    return [more, step](int rank, StepId at) { return rank == 0 && at == step ? 1e-3 + more : 1e-3; };
  };
  auto late = lateness_of(program, schedule(program, {{1, step, 0.020}}, slow(0.015)));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].waiting_ranks, 1);
  EXPECT_NEAR(late[0].waited_seconds, 0.005, 1e-9);
  EXPECT_NEAR(late[0].longer_seconds, 0.005, 1e-9);
  late = lateness_of(program, schedule(program, {{1, step, 0.020}}, slow(0.030)));
  EXPECT_EQ(late[0].waiting_ranks, 0);
  EXPECT_NEAR(late[0].longer_seconds, 0, 1e-9);
  EXPECT_EQ(to_sentence(program, late[0]),
            "rank 1 was late by 20.0 ms before attn.proj: no rank waited for it; without the delay, the "
            "pass would have ended no sooner");
}

TEST(Lateness, TwoLateRanksAreEachReckonedBesideTheOther) {
  const Program program = plan_program(testing::small_layer(3));
  const StepId first = step_named(program, "attn.proj"), second = step_named(program, "mlp.proj");
  const auto late = lateness_of(
      program, schedule(program, {{2, second, 0.010}, {0, first, 0.030}}, [](int, StepId) { return 1e-3; }));
  ASSERT_EQ(late.size(), 2u);
  EXPECT_EQ(late[0].rank, 0);
  EXPECT_NEAR(late[0].longer_seconds, 0.030, 1e-9);
  EXPECT_NEAR(late[1].longer_seconds, 0.010, 1e-9);
  EXPECT_NEAR(late[1].waited_seconds, 0.020, 1e-9);
}

TEST(Lateness, NobodyLateIsNothingToSay) {
  const Program program = plan_program(testing::small_layer(2));
  EXPECT_TRUE(lateness_of(program, schedule(program, {}, [](int, StepId) { return 1e-3; })).empty());
  EXPECT_TRUE(lateness_of(program, {}).empty());
}

std::map<std::string, std::vector<std::byte>> results_of(const Settings& settings) {
  auto gather =
      std::make_shared<Gather>(settings.tp, [](const Tensor& t) { return t.kind != MemoryKind::Workspace; });
  testing::run(make_plan(settings), {gather});
  std::map<std::string, std::vector<std::byte>> bytes;
  for (const auto& [name, tensor] : gather->tensors()) bytes[name] = tensor.bytes;
  return bytes;
}

TEST(Lateness, ALateRankIsMeasuredAsWaitingAndChangesNoBit) {
  const Settings settings = testing::small_layer(4);
  Settings late = settings;
  late.delays = {{2, "attn.proj", 50}};
  EXPECT_EQ(results_of(late), results_of(settings));
  const auto plan = make_plan(late);
  Executor executor(plan);
  executor.start(executor.steps());
  executor.wait();
  const Program& program = plan->program;
  const auto held = static_cast<size_t>(step_named(program, "attn.proj"));
  const auto meeting = static_cast<size_t>(step_named(program, "all-reduce attn.proj.sum"));
  const Events events = executor.events(4);
  EXPECT_GE(events[2][held].held_seconds, 0.050);
  EXPECT_GE(events[2][held].begin_seconds - events[2][held - 1].end_seconds, 0.050);
  for (const size_t other : {0u, 1u, 3u}) {
    EXPECT_EQ(events[other][held].held_seconds, 0);
    EXPECT_GT(events[other][meeting].wait_seconds(), events[2][meeting].wait_seconds());
  }
  const auto cost = lateness_of(program, events);
  ASSERT_EQ(cost.size(), 1u);
  EXPECT_EQ(cost[0].held_seconds, events[2][held].held_seconds);
  EXPECT_GT(cost[0].waiting_ranks, 0);
  EXPECT_GT(cost[0].longer_seconds, 0);
  EXPECT_LE(cost[0].longer_seconds, cost[0].held_seconds + 1e-9);
}

// A lane beside the ranks, replicas, and holds before what runs in the lane itself.
TEST(Lateness, NothingLeftOutIsThePassAsItWas) {
  Settings settings = testing::small_model(2, 2);
  settings.overlap_chunks = 2;
  const Program program = plan_program(settings);
  for (const Step& step : program.steps)
    if (step.overlapped) {
      settings.delays = {{3, delay_word(program, step.id), 3}, {0, "h.1.mlp.fc", 3}};
      const auto plan = make_plan(settings);
      Executor executor(plan);
      executor.start(executor.steps());
      executor.wait();
      const auto late = lateness_of(plan->program, executor.events(4));
      ASSERT_EQ(late.size(), 2u) << step.name;
      for (const Lateness& one : late) {
        EXPECT_GE(one.held_seconds, 0.003);
        EXPECT_GE(one.longer_seconds, -1e-9);
        EXPECT_LE(one.longer_seconds, one.held_seconds + 1e-9) << step.name;
        // Each of the three others may wait on its thread and in its lane.
        EXPECT_LE(one.waited_seconds, 2 * 3 * one.held_seconds + 1e-9) << step.name;
      }
    }
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

constexpr double kLongSeconds = 30;  // of 60 that the rank would stand still

/// A layer whose rank 1 stands still for a minute.
std::shared_ptr<const Plan> a_minute_late() {
  Settings settings = testing::small_layer(2);
  settings.delays = {{1, "attn.proj", 60'000}};
  return make_plan(settings);
}

TEST(Lateness, ACancelledRunWaitsForNobody) {
  Executor executor(a_minute_late());
  executor.start(executor.steps());
  EXPECT_FALSE(executor.wait_for(0.05));
  const auto begin = std::chrono::steady_clock::now();
  executor.cancel("enough");
  EXPECT_THROW(executor.wait(), Error);
  EXPECT_LT(seconds_since(begin), kLongSeconds);
}

TEST(Lateness, APausedRunStandsAtItsBoundaryAtOnce) {
  Executor executor(a_minute_late());
  executor.start(executor.steps());
  EXPECT_FALSE(executor.wait_for(0.05));
  const auto begin = std::chrono::steady_clock::now();
  executor.pause();
  executor.wait();
  EXPECT_LT(seconds_since(begin), kLongSeconds);
  EXPECT_LT(executor.position(), executor.steps());
}

TEST(Lateness, WhatIsComparedWithIsOnTime) {
  Settings settings = testing::small_layer(2);
  settings.delays = {{1, "attn.proj", 60'000}};
  EXPECT_EQ(make_plan(settings)->delays.size(), 1u);
  EXPECT_TRUE(make_plan(plan_serial(settings))->delays.empty());
}

}  // namespace lateness_test
}  // namespace shardlens
