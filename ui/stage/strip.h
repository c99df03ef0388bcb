// The whole model on one page: a row for each part, its forward steps at the left and its backward steps at
// the right, as long as they took. One reads down the left side and up the right one, as the run does. Plain
// data first, then its drawing.
#pragma once

#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/context.h"
#include "ui/plan/sections.h"
#include "ui/stage/lanes.h"

namespace shardlens::ui::stage {

/// What lengths in the strip mean.
enum class StripUnit { Measured, Estimated, Flops };

/// A stretch of one side of a row: steps of one kind in a row.
struct StripSegment {
  enum class Kind { Compute, Again, Wait, Transfer };  ///< Again: forward steps run once more
  Kind kind = Kind::Compute;
  double amount = 0;  ///< seconds, or FLOPs
};

/// One side of a row.
struct StripSide {
  std::vector<StripSegment> segments;
  double amount = 0;  ///< sum over the segments: of what goes on beside the steps what they wait for it
  double communication = 0;
  int collectives = 0;
  int64_t sent_bytes = 0;
  StepId first = -1;  ///< its first step; -1: it has none
};

struct StripRow {
  StripSide forward, backward;  ///< what the optimizer does stands on the backward side
};

struct Strip {
  StripUnit unit = StripUnit::Flops;
  std::vector<StripRow> rows;  ///< per section
  double longest = 0;          ///< largest amount of one side
};

/// Rank 0's share of the run, or of the plan while nothing was timed; `hardware_known`: predicted times
/// exist.
Strip make_strip(const Plan& plan, const Result* result, const Sections& sections);

/// Draws the strip into `room` and opens what is clicked.
void draw_strip(const Context& context, const std::shared_ptr<const Plan>& plan,
                const std::shared_ptr<const Result>& result, const Rect& room);

/// The line above an open part: back to the whole model, and the parts beside it. Returns its height.
float draw_breadcrumb(const Context& context, const Plan& plan, const Sections& sections, const Rect& room);

}  // namespace shardlens::ui::stage
