// What the Timeline shows: estimated collectives, joined blocks, and what a click hits.
#include "ui/panels/timeline/tracks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/cost/pass_time.h"
#include "engine/planner/planner.h"
#include "engine/runtime/snapshot.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace tracks_test {

/// Two ranks, three steps: a product, an all-reduce, a product. Rank 1's first product takes twice as long.
std::shared_ptr<Plan> uneven_plan() {
  auto plan = std::make_shared<Plan>();
  plan->program.settings.tp = 2;
  for (const Op op : {Op::Linear, Op::AllReduce, Op::Linear}) {
    Step step;
    step.id = static_cast<StepId>(plan->program.steps.size());
    step.op = op;
    plan->program.steps.push_back(step);
  }
  plan->cost.assign(2, std::vector<StepCost>(3));
  for (std::vector<StepCost>& rank : plan->cost) {
    for (StepCost& cost : rank) cost.predicted_seconds = 1;
  }
  plan->cost[1][0].predicted_seconds = 2;
  return plan;
}

std::vector<StepEvent> events_at(const std::vector<std::pair<double, double>>& spans) {
  std::vector<StepEvent> events;
  for (const auto& [begin, end] : spans) {
    StepEvent event;
    event.begin_seconds = begin;
    event.end_seconds = end;
    events.push_back(event);
  }
  return events;
}

Program products(size_t count) {
  Program program;
  program.steps.resize(count);
  for (Step& step : program.steps) step.op = Op::Linear;
  return program;
}

TEST(Tracks, RanksMeetAtACollective) {
  const auto plan = uneven_plan();
  const Events events = predicted_events(plan->program, plan->cost);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_DOUBLE_EQ(events[0][1].wait_seconds(), 1) << "rank 0 waits for the slower one";
  EXPECT_DOUBLE_EQ(events[1][1].wait_seconds(), 0);
  EXPECT_DOUBLE_EQ(events[0][1].end_seconds, 3);
  EXPECT_DOUBLE_EQ(events[1][1].end_seconds, 3);
  EXPECT_DOUBLE_EQ(events[0][2].end_seconds, 4);
}

TEST(Tracks, AnEstimateIsShownUntilARunWasTimed) {
  Snapshot snapshot;
  EXPECT_EQ(tracks_of(snapshot).plan, nullptr);
  snapshot.plan = uneven_plan();
  EXPECT_FALSE(tracks_of(snapshot).measured);
  EXPECT_DOUBLE_EQ(tracks_of(snapshot).seconds, 4);

  auto result = std::make_shared<Result>();
  result->plan = snapshot.plan;
  result->events = {events_at({{0, 5}}), events_at({{0, 7}})};
  snapshot.result = result;
  EXPECT_FALSE(tracks_of(snapshot).measured) << "events of a sampled run are no timing";
  result->timed = true;
  EXPECT_TRUE(tracks_of(snapshot).measured);
  EXPECT_DOUBLE_EQ(tracks_of(snapshot).seconds, 7);
}

TEST(Tracks, BlocksOutsideAreLeftOut) {
  const auto blocks = blocks_in(products(3), events_at({{0, 1}, {1, 2}, {2, 3}}), {1.2, 1.8}, 0.01);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].first, 1);
}

TEST(Tracks, NarrowNeighboursAreJoinedAndWideOnesAreNot) {
  const auto blocks =
      blocks_in(products(4), events_at({{0, 1}, {1, 1.001}, {1.001, 1.002}, {1.002, 3}}), {0, 3}, 0.01);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_FALSE(blocks[0].joined());
  EXPECT_TRUE(blocks[1].joined());
  EXPECT_EQ(blocks[1].first, 1);
  EXPECT_EQ(blocks[1].last, 2);
  EXPECT_EQ(blocks[2].first, 3);
}

TEST(Tracks, ACollectiveIsNeverLostAmongNarrowBlocks) {
  Program program = products(3);
  program.steps[1].op = Op::AllReduce;
  const auto blocks =
      blocks_in(program, events_at({{0, 0.001}, {0.001, 0.002}, {0.002, 0.003}}), {0, 3}, 0.01);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].last, 0);
  EXPECT_EQ(blocks[1].first, 2);
}

TEST(Tracks, ManyNarrowStepsMakeFewBlocks) {
  std::vector<std::pair<double, double>> spans;
  for (int i = 0; i < 100'000; ++i) spans.emplace_back(i * 1e-5, (i + 1) * 1e-5);
  EXPECT_LE(blocks_in(products(spans.size()), events_at(spans), {0, 1}, 1e-3).size(), 1000u);
}

TEST(Tracks, AllBlocksOfAStepBearOneName) {
  const std::vector<std::string> names{"dWproj = Gᵀ·dY", "mlp.proj dW", "dWproj"};
  const auto letters = [](const std::string& name) { return static_cast<float>(name.size()); };
  const auto name = [&](const std::vector<float>& rooms) { return common_name(names, rooms, letters); };
  EXPECT_EQ(name({40, 30, 100}), names[0]);
  EXPECT_EQ(name({40, 12, 100}), "mlp.proj dW") << "the narrowest says which";
  EXPECT_EQ(name({40, 12, 7}), "dWproj");
  EXPECT_EQ(name({40, 12, 3}), "mlp.proj dW") << "a block too narrow for any name has no say";
  EXPECT_EQ(name({5, 3}), "");
  EXPECT_EQ(name({}), "");
}

TEST(Tracks, AStepIsCalledByItsEquationFirst) {
  Program program = products(2);
  program.tensors.resize(1);
  program.tensors[0].symbol = "QKV";
  program.steps[0].name = "attn.qkv";
  program.steps[0].outputs = {0};
  program.steps[1].op = Op::AllReduce;
  EXPECT_EQ(names_of(program, program.steps[0]), (std::vector<std::string>{"QKV  attn.qkv", "QKV"}));
  EXPECT_EQ(names_of(program, program.steps[1]), (std::vector<std::string>{to_string(Op::AllReduce)}));
}

TEST(Tracks, AClickHitsTheStepUnderIt) {
  const auto events = events_at({{0, 1}, {1, 1}, {1, 2}, {3, 4}});
  const Program program = products(4);
  const auto hit = [&](double at) { return step_at(program, events, Lane::Own, at, 0.1); };
  EXPECT_EQ(hit(0.5), 0);
  EXPECT_EQ(hit(1.5), 2);
  EXPECT_EQ(hit(2.95), 3) << "within reach";
  EXPECT_EQ(hit(2.5), -1);
  EXPECT_EQ(step_at(program, events_at({{0, 0}, {0, 1}}), Lane::Own, 0, 0.1), 1)
      << "a step of no time lies under the border";
}

TEST(Tracks, AGapIsFromOneStepsEndToTheNextOnesBegin) {
  Program program = products(4);
  program.steps[2].overlapped = true;
  const auto events = events_at({{0, 1}, {1, 2}, {2, 9}, {3, 4}});
  const auto gap = [&](double at) { return gap_at(program, events, at); };
  EXPECT_EQ(gap(2.5), (Stretch{2, 3})) << "what goes on beside the steps does not fill it";
  for (const double at : {-0.5, 0.5, 1.0, 3.5, 4.5}) EXPECT_EQ(gap(at), std::nullopt) << at;
}

// One is drawn over the other: which of them is meant depends on where on the track the mouse is.
TEST(Tracks, AStepBesideTheOthersIsHitInItsOwnLane) {
  Program program = products(3);
  program.steps[1].overlapped = true;
  const auto events = events_at({{0, 1}, {1, 2}, {1, 3}});
  EXPECT_EQ(step_at(program, events, Lane::Overlapped, 1.5, 0.1), 1);
  EXPECT_EQ(step_at(program, events, Lane::Own, 1.5, 0.1), 2);
  EXPECT_EQ(step_at(program, events, Lane::Overlapped, 2.5, 0.1), -1);
}

// Before anything has run: the weight's gradient begins with the sum of the input's, and what needs that sum
// when both are done.
TEST(Tracks, AnEstimateLetsStepsGoOnBesideTheOthers) {
  Settings settings;
  settings.tp = 2;
  const Program program = plan_program(settings);
  const std::vector<std::vector<StepCost>> cost(
      2, std::vector<StepCost>(program.steps.size(), {.predicted_seconds = 1}));
  const Events events = predicted_events(program, cost);
  const auto sum = std::ranges::find(program.steps, true, &Step::overlapped);
  ASSERT_NE(sum, program.steps.end());
  const auto at = [&](StepId step) { return events[0][static_cast<size_t>(step)]; };
  EXPECT_EQ(program.step(sum->id + 1).op, Op::LinearGradWeight);
  EXPECT_EQ(at(sum->id + 1).begin_seconds, at(sum->id).begin_seconds);
  const StepId needs_it = consumers_of(program, sum->outputs[0]).front();
  EXPECT_GE(at(needs_it).begin_seconds, at(sum->id).end_seconds);
  EXPECT_EQ(at(needs_it).begin_seconds, at(needs_it - 1).end_seconds);
}

}  // namespace tracks_test
}  // namespace shardlens::ui
