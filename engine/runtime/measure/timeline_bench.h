// What the timeline of a long recording costs: a recording drawn by lot from a plan's prices, as long as is
// wanted, then opened, looked at in many places at many zooms, and searched.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"

namespace shardlens {

struct TimelineBench {
  int64_t passes = 0, events = 0, file_bytes = 0;
  double overview_share = 0;  ///< of the file's bytes
  double open_seconds = 0;    ///< until the whole recording can be drawn, nothing of it in memory before
  double build_seconds = 0;   ///< its overview, where its writer was killed
  double slice_seconds = 0;   ///< median of `views` stretches from the whole recording to some events
  double slowest_slice_seconds = 0;
  double find_seconds = 0;  ///< the slowest of all kinds of searches
};

/// A recording of `events` events at least, padded by pictures to about `file_bytes`, written to `path`,
/// which must not be there. Every step takes its predicted time, up to twice as long, and some ranks are
/// late.
void draw_recording(const std::shared_ptr<const Plan>& plan, const std::string& path, int64_t events,
                    int64_t file_bytes);

/// The same, and what `views` views of it cost.
TimelineBench bench_timeline(const std::shared_ptr<const Plan>& plan, const std::string& path, int64_t events,
                             int64_t file_bytes, int views);

}  // namespace shardlens
