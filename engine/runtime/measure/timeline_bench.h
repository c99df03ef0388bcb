// Measures what the timeline of a long recording costs: makes a recording with random times around a plan's
// prices, as long as wanted, then opens it, looks at many places at many zooms, and searches it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"

namespace shardlens {

struct TimelineBench {
  int64_t passes = 0, events = 0, file_bytes = 0;
  double overview_share = 0;  ///< of the file's bytes
  double open_seconds = 0;    ///< until the whole recording can be drawn, with nothing of it in memory before
  double build_seconds = 0;   ///< to build its overview after its writer was killed
  double slice_seconds = 0;   ///< median of `views` ranges, from the whole recording to some events
  double slowest_slice_seconds = 0;
  double find_seconds = 0;  ///< the slowest of all kinds of searches
};

/// Writes a recording of at least `events` events, padded by pictures to about `file_bytes`, to `path`, which
/// must not exist. Every step takes its predicted time, or up to twice as long, and some ranks are late.
void draw_recording(const std::shared_ptr<const Plan>& plan, const std::string& path, int64_t events,
                    int64_t file_bytes);

/// Does the same, and measures what `views` views of it cost.
TimelineBench bench_timeline(const std::shared_ptr<const Plan>& plan, const std::string& path, int64_t events,
                             int64_t file_bytes, int views);

}  // namespace shardlens
