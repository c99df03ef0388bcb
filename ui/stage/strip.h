// The whole model on one page: a row for each part, with its forward steps at the left and its backward steps
// at the right. Lengths are times. The run goes down the left side and up the right side. This header has the
// data, then the drawing.
#pragma once

#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/context.h"
#include "ui/plan/sections.h"
#include "ui/stage/lanes.h"

namespace shardlens::ui::stage {

/// The meaning of lengths in the strip.
enum class StripUnit { Measured, Estimated, Flops };

/// A stretch of one side of a row: consecutive steps of one kind.
struct StripSegment {
  enum class Kind { Compute, Again, Wait, Transfer };  ///< Again: recomputed forward steps
  Kind kind = Kind::Compute;
  double amount = 0;  ///< seconds, or FLOPs
};

/// One side of a row.
struct StripSide {
  std::vector<StripSegment> segments;
  double amount =
      0;  ///< sum over the segments; an overlapped collective counts only the time steps wait for it
  double communication = 0;
  int collectives = 0;
  int64_t sent_bytes = 0;
  StepId first = -1;  ///< its first step; -1: it has none
};

struct StripRow {
  StripSide forward, backward;  ///< the optimizer's steps are on the backward side
  int64_t weight_bytes = 0;  ///< the parameters that its forward steps read, of the rank that holds the most
  TensorId output = kNoTensor;  ///< what its last forward step writes: the stream after a layer
};

struct Strip {
  StripUnit unit = StripUnit::Flops;
  std::vector<StripRow> rows;  ///< per section
  double longest = 0;          ///< largest amount of one side
};

/// Makes the strip of rank 0 from the timed result, or from the plan if nothing was timed.
Strip make_strip(const Plan& plan, const Result* result, const Sections& sections);

/// Returns the rms of a tensor over all ranks together: over the copies of rank 0 if they are equal. NaN if
/// it was not sampled.
double rms_of(const Program& program, const Result* result, TensorId tensor);

/// Draws the strip into `room` and opens a part that is clicked.
void draw_strip(const Context& context, const std::shared_ptr<const Plan>& plan,
                const std::shared_ptr<const Result>& result, const Rect& room);

/// Draws the line above an open part, with links back to the whole model and to the parts before and after.
/// Returns its height.
float draw_breadcrumb(const Context& context, const Plan& plan, const Sections& sections, const Rect& room);

}  // namespace shardlens::ui::stage
