// Every step's time, and what they add up to.
#include "ui/panels/traffic/traffic_times_rows.h"

#include <gtest/gtest.h>

#include "engine/runtime/plan.h"
#include "engine/runtime/step_times.h"
#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace {

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
  EXPECT_NEAR(collectives.waited_seconds, 2e-3, 1e-12) << "rank 0 waits a millisecond at each";
  EXPECT_NEAR(collectives.measured_seconds, 2e-3, 1e-12) << "and the transfer stands apart";
  EXPECT_EQ(total(rows, TimeKind::Beside).steps, 2) << "the input gradients' sums, which take none of it";
  for (const TimeRow& row : rows) {
    EXPECT_NE(plan->program.step(row.step).op, Op::Identity);
    EXPECT_GT(row.predicted_seconds, 0) << row.name;
  }
}

}  // namespace
}  // namespace shardlens::ui
