// Every step's time, and the totals.
#include "ui/panels/traffic/traffic_times_rows.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "engine/runtime/plan.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/traffic/traffic_rows.h"

namespace shardlens::ui {
namespace traffic_times_rows_test {

TEST(TimeRows, AreEveryStepThatTakesTime) {
  Settings settings = small_settings();
  settings.tp = 2;
  settings.hardware = "a100-80gb";
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  Result result;
  result.plan = plan;
  EXPECT_TRUE(time_rows(*plan, result).empty()) << "not timed";
  const size_t steps = plan->program.steps.size();
  result.events.assign(2, std::vector<StepEvent>(steps));
  for (size_t step = 0; step < steps; ++step) {
    for (size_t rank = 0; rank < 2; ++rank) {
      StepEvent& event = result.events[rank][step];
      event.begin_seconds = event.arrival_seconds = 1e-3 * static_cast<double>(step + rank);
      event.all_arrived_seconds = 1e-3 * static_cast<double>(step + 1);
      event.end_seconds = 1e-3 * static_cast<double>(step + 2);
    }
  }
  result.times = std::make_shared<TimeComparison>(compare_times(*plan, result.events));
  const std::vector<TimeRow> rows = time_rows(*plan, result);
  int counted = 0;
  for (const TimeKind kind : kTimeKinds) counted += total(rows, kind).steps;
  EXPECT_EQ(counted, static_cast<int>(rows.size()));
  EXPECT_EQ(total(rows, TimeKind::Product).steps, 12) << "four matrices, three products each";
  EXPECT_EQ(total(rows, TimeKind::Attention).steps, 2);
  const TimeTotal collectives = total(rows, TimeKind::Collective);
  EXPECT_EQ(collectives.steps, 2);
  EXPECT_NEAR(collectives.waited_seconds, 1e-3, 1e-12) << "rank 0 waits a millisecond at each, rank 1 never";
  EXPECT_NEAR(collectives.measured_seconds, 2e-3, 1e-12) << "and the transfer stands apart";
  EXPECT_EQ(total(rows, TimeKind::Overlapped).steps, 2) << "the input gradients' sums, which take none of it";
  for (const TimeRow& row : rows) {
    EXPECT_NE(plan->program.step(row.step).op, Op::Identity);
    EXPECT_GT(row.predicted_seconds, 0) << row.name;
  }
}

/// A pass in which now one rank and now the other takes three times as long, and they wait where they meet.
std::vector<std::vector<StepEvent>> taking_turns(const Program& program) {
  std::vector<std::vector<StepEvent>> events(2);
  std::vector<double> clock(2, 0.0);
  for (const Step& step : program.steps) {
    const double met = std::max(clock[0], clock[1]);
    for (size_t rank = 0; rank < 2; ++rank) {
      StepEvent event;
      event.begin_seconds = event.arrival_seconds = event.all_arrived_seconds = clock[rank];
      if (step.overlapped) {  // done at once: what it means for the others is told elsewhere
        event.end_seconds = clock[rank];
      } else if (is_collective(step.op)) {
        event.all_arrived_seconds = met;
        event.end_seconds = clock[rank] = met + 1e-3;
      } else {
        const bool slow = (static_cast<size_t>(step.id) + rank) % 2 == 0;
        event.end_seconds = clock[rank] += slow ? 3e-3 : 1e-3;
      }
      events[rank].push_back(event);
    }
  }
  return events;
}

TEST(TimeRows, ThePartsAreNoMoreThanTheWholeAndBothPagesAgree) {
  Settings settings = small_settings();
  settings.tp = 2;
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  Result result;
  result.plan = plan;
  result.events = taking_turns(plan->program);
  result.times = std::make_shared<TimeComparison>(compare_times(*plan, result.events));
  const std::vector<TimeRow> rows = time_rows(*plan, result);
  double parts = 0, waited = 0, slowest = 0;
  for (const TimeKind kind : kTimeKinds) {
    parts += total(rows, kind).measured_seconds;
    waited += total(rows, kind).waited_seconds;
  }
  for (const TimeRow& row : rows) slowest += row.measured_seconds;
  EXPECT_GT(waited, 0);
  EXPECT_LE(parts + waited, result.times->measured_seconds + 1e-12);
  EXPECT_GT(slowest, result.times->measured_seconds)
      << "of every step the slowest rank is more than the pass";
  const TrafficTotal traffic = total(traffic_rows(*plan, &result, find_hardware("v100-32gb")));
  EXPECT_DOUBLE_EQ(traffic.wait_seconds, waited);
  EXPECT_DOUBLE_EQ(traffic.transfer_seconds, total(rows, TimeKind::Collective).measured_seconds);
}

TEST(TimeRows, AnErrorOfManyTimesIsNoPercentage) {
  EXPECT_EQ(difference_text(1.12, 1), "+12 %");
  EXPECT_EQ(difference_text(0.6, 1), "-40 %");
  EXPECT_EQ(difference_text(3.1, 1), "× 3.1");
  EXPECT_EQ(difference_text(313e-6, 70.2e-3), "÷ 224");
}

TEST(TimeRows, MoreRanksThanCoresAreSaid) {
  Settings settings = small_settings();
  Hardware hardware;
  hardware.ranks_per_node = 2;
  settings.tp = 2;
  EXPECT_EQ(short_of_cores(settings, hardware), "");
  settings.dp = 2;
  EXPECT_THAT(short_of_cores(settings, hardware), ::testing::StartsWith("4 ranks share 2 cores"));
}

}  // namespace traffic_times_rows_test
}  // namespace shardlens::ui
