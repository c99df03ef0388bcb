// A band's sentence uses the run's own numbers, and says so if there are none.
#include "ui/stage/meeting.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "engine/config/splits.h"
#include "engine/planner/planner.h"
#include "engine/runtime/snapshot.h"

namespace shardlens::ui::stage {
namespace meeting_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Plan plan_of(int tp) {
  Settings settings;
  settings.tp = tp;
  settings.batch = 4;
  settings.seq = 256;
  Plan plan;
  plan.program = plan_program(settings);
  plan.cost.assign(static_cast<size_t>(tp), std::vector<StepCost>(plan.program.steps.size()));
  return plan;
}

const Step& first(const Program& program, Op op) {
  for (const Step& step : program.steps) {
    if (step.op == op) return step;
  }
  throw std::logic_error("no such step");
}

// Rank r arrives after r milliseconds; all leave 2 ms after the last arrival.
Result result_of(const Plan& plan) {
  Result result;
  const int ranks = plan.program.tp();
  for (int rank = 0; rank < ranks; ++rank) {
    StepEvent event;
    event.begin_seconds = event.arrival_seconds = 1 + 1e-3 * rank;
    event.all_arrived_seconds = 1 + 1e-3 * (ranks - 1);
    event.end_seconds = event.all_arrived_seconds + 2e-3;
    result.events.emplace_back(plan.program.steps.size(), event);
  }
  return result;
}

TEST(StageMeeting, IsMeasuredFromTheFirstArrivalToTheLastEnd) {
  const Plan plan = plan_of(4);
  const Result result = result_of(plan);
  const Meeting meeting = meeting_of(plan, &result, first(plan.program, Op::AllReduce).id);
  EXPECT_EQ(meeting.source, Meeting::Source::Measured);
  EXPECT_NEAR(meeting.seconds, 5e-3, 1e-12);
  EXPECT_NEAR(meeting.wait_seconds, 3e-3, 1e-12);
  EXPECT_EQ(meeting.last_rank, 3);
}

TEST(StageMeeting, IsNotMeasuredUntilEveryRankHasPassed) {
  Plan plan = plan_of(4);
  const StepId step = first(plan.program, Op::AllReduce).id;
  Result result = result_of(plan);
  result.events[2].resize(static_cast<size_t>(step));  // rank 2 has not been there
  EXPECT_EQ(meeting_of(plan, &result, step).source, Meeting::Source::None);
  plan.cost[1][static_cast<size_t>(step)].predicted_seconds = 0.25;
  const Meeting estimated = meeting_of(plan, &result, step);
  EXPECT_EQ(estimated.source, Meeting::Source::Estimated);
  EXPECT_DOUBLE_EQ(estimated.seconds, 0.25);
}

TEST(StageBand, SaysTensorBytesTimeAndWhomTheyWaitedFor) {
  const Plan plan = plan_of(4);
  const Result result = result_of(plan);
  const Step& step = first(plan.program, Op::AllReduce);
  EXPECT_THAT(
      band_forms(plan.program, step, meeting_of(plan, &result, step.id)),
      ElementsAre("all-reduce O · 3.00 MiB tensor · 4.50 MiB sent per rank · 5.00 ms, 3.00 ms waiting "
                  "for rank 3",
                  "all-reduce O · 4.50 MiB sent per rank · 5.00 ms, 3.00 ms waiting for rank 3",
                  "all-reduce O · 4.50 MiB sent · 5.00 ms, 3.00 ms waiting for rank 3",
                  "all-reduce O · 4.50 MiB sent · 5.00 ms, 3.00 ms waiting",
                  "all-reduce O · 4.50 MiB sent · 5.00 ms", "all-reduce O · 4.50 MiB sent", "all-reduce O"));
}

TEST(StageBand, LeavesOutWhatALessonAsks) {
  const Plan plan = plan_of(4);
  const Result result = result_of(plan);
  const Step& step = first(plan.program, Op::AllReduce);
  const Meeting meeting = meeting_of(plan, &result, step.id);
  EXPECT_THAT(band_forms(plan.program, step, meeting, {.sent = true}),
              AllOf(Contains("all-reduce O · 3.00 MiB tensor · 5.00 ms, 3.00 ms waiting for rank 3"),
                    Not(Contains(HasSubstr("sent")))));
  EXPECT_THAT(band_forms(plan.program, step, meeting, {.waiting = true}),
              AllOf(Contains(EndsWith("4.50 MiB sent · 5.00 ms")), Not(Contains(HasSubstr("waiting")))));
}

TEST(StageBand, OfABucketItNamesHowManyAndCountsThemAll) {
  Settings settings;
  settings.tp = 4;
  settings.split = named_split("megatron-sp");
  const Program program = plan_program(settings);
  const Step& bucket = first(program, Op::AllReduce);
  EXPECT_EQ(band_forms(program, bucket, {}).front(),
            "all-reduce 6 gradients · 18.0 KiB together · 27.0 KiB sent per rank");
}

TEST(StageBand, WhatGoesOnBesideTheStepsIsNotCalledWaiting) {
  const Plan plan = plan_of(4);
  const Result result = result_of(plan);
  const auto& steps = plan.program.steps;
  const auto beside =
      std::find_if(steps.begin(), steps.end(), [](const Step& step) { return step.overlapped; });
  ASSERT_NE(beside, steps.end());
  EXPECT_THAT(band_forms(plan.program, *beside, meeting_of(plan, &result, beside->id)),
              AllOf(Contains(HasSubstr(" · overlaps next steps · ")),
                    Contains(EndsWith("5.00 ms, 3.00 ms until rank 3 arrived")),
                    Not(Contains(HasSubstr("waiting")))));
  EXPECT_THAT(reason_of(plan.program, beside->id),
              EndsWith("run at the same time, until one needs its result."));
  EXPECT_THAT(reason_of(plan.program, first(plan.program, Op::AllReduce).id),
              Not(HasSubstr("at the same time")));
}

TEST(StageBand, AnEstimateIsCalledOneAndNothingKnownSaysNothing) {
  const Plan plan = plan_of(4);
  const Step& step = first(plan.program, Op::AllReduce);
  Meeting meeting;
  EXPECT_THAT(band_forms(plan.program, step, meeting), Not(Contains(HasSubstr("ms"))));
  meeting.source = Meeting::Source::Estimated;
  meeting.seconds = 1e-3;
  EXPECT_THAT(band_forms(plan.program, step, meeting).front(), EndsWith("estimated"));
}

TEST(StageLine, ConjugatesTellTheirOtherHalf) {
  const Plan plan = plan_of(4);
  std::vector<std::string> lines;
  for (const Step& step : plan.program.steps) {
    if (step.op == Op::Identity) lines.push_back(line_sentence(plan.program, step));
  }
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "f · nothing to do here, all-reduce on the way back");
  EXPECT_EQ(lines[2], "g · nothing to do here, all-reduce on the way forward");
}

TEST(StageMeeting, SaysThatRanksWaitForACoreWhereTheyShareCores) {
  const auto plan = std::make_shared<Plan>(plan_of(4));
  Result result = result_of(*plan);
  result.plan = plan;
  const Step& step = first(plan->program, Op::AllReduce);
  for (const bool shared : {false, true}) {
    result.communicator = {"local", shared ? "4 CPU threads, 2 cores" : "4 CPU threads, 8 cores"};
    const Meeting meeting = meeting_of(*plan, &result, step.id);
    EXPECT_EQ(meeting.for_a_core, shared);
    const std::string longest = band_forms(plan->program, step, meeting).front();
    if (shared)
      EXPECT_THAT(longest, EndsWith("3.00 ms waiting for rank 3, mostly for a free core"));
    else
      EXPECT_THAT(longest, EndsWith("3.00 ms waiting for rank 3"));
  }
}

}  // namespace meeting_test
}  // namespace shardlens::ui::stage
