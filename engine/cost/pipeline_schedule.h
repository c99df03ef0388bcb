// Computes when each stage of a pipeline computes and when it waits, slot by slot, to draw the pipeline
// bubble. The order is the one that keeps the fewest activations: a stage first starts as many parts as there
// are stages from it to the end, and then does one forward and one backward in turn.
#pragma once

#include <vector>

namespace shardlens {

struct PipelineSlot {
  int stage = 0;
  int part = 0;
  bool forward = true;
  double begin = 0, end = 0;  ///< in the unit of the two durations
};

struct PipelineSchedule {
  int stages = 1, parts = 1;
  std::vector<PipelineSlot> slots;  ///< stage by stage, in time
  double length = 0;

  /// Returns the share of all stages' time in which they wait: (P-1)/(m+P-1).
  double idle_share() const;
};

/// Schedules `parts` parts of a batch through `stages` stages; each stage takes `forward` and `backward` for
/// a part. Throws a request Error for less than one stage or part.
PipelineSchedule schedule_pipeline(int stages, int parts, double forward, double backward);

}  // namespace shardlens
