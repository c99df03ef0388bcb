// Checks the order of one rank's steps, on its own thread and in its side lane.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/program/overlap_waits.h"
#include "engine/program/program.h"
#include "engine/record/trace.h"

namespace shardlens::testing {

/// Every step begins when the one before it on the thread has ended, one that waits for the lane when that is
/// empty.
inline void expect_in_order(const Program& program, const RankTrace& trace) {
  const std::vector<bool> behind_lane = waits_for_overlapped(program);
  double thread_free = 0, lane_free = 0;
  for (const Step& step : program.steps) {
    const StepEvent& event = trace.event(static_cast<size_t>(step.id));
    const bool waits = step.overlapped || behind_lane[static_cast<size_t>(step.id)];
    EXPECT_GE(event.begin_seconds, waits ? std::max(thread_free, lane_free) : thread_free) << step.name;
    EXPECT_GE(event.end_seconds, event.begin_seconds) << step.name;
    (step.overlapped ? lane_free : thread_free) = event.end_seconds;
  }
}

}  // namespace shardlens::testing
