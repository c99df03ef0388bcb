// How long a rank's own steps wait for overlapped steps.
#include "engine/record/trace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/planner/planner.h"
#include "engine/program/overlap_waits.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace trace_test {

// Every step takes a second; of two sums beside the steps one is done in time and one is late.
TEST(SecondsWaitedOverlapped, AreThoseOfALateSumAlone) {
  const Program program = plan_program(testing::small_layer(2));
  const std::vector<bool> behind = waits_for_overlapped(program);
  std::vector<StepEvent> events;
  std::vector<StepId> sums;
  double thread = 0, lane = 0, until_late = 0;
  for (const Step& step : program.steps) {
    StepEvent event;
    if (behind[static_cast<size_t>(step.id)]) {
      if (lane > thread) until_late = lane - thread;
      thread = std::max(thread, lane);
    }
    event.begin_seconds = thread;
    event.end_seconds = thread + (!step.overlapped ? 1 : sums.empty() ? 0.5 : 10);
    if (step.overlapped) sums.push_back(step.id);
    (step.overlapped ? lane : thread) = event.end_seconds;
    events.push_back(event);
  }
  ASSERT_EQ(sums.size(), 2u);
  ASSERT_GT(until_late, 0);
  const std::vector<double> waited = seconds_waited_overlapped(program, events);
  for (const Step& step : program.steps)
    EXPECT_DOUBLE_EQ(waited[static_cast<size_t>(step.id)], step.id == sums[1] ? until_late : 0) << step.name;
  // A pass is over when both are: here in the middle of the second sum.
  events.resize(static_cast<size_t>(sums[1]) + 1);
  EXPECT_DOUBLE_EQ(seconds_waited_overlapped(program, events)[static_cast<size_t>(sums[1])], 10);
}

}  // namespace trace_test
}  // namespace shardlens
