// The state of a run's Timeline: which stretch it shows.
#pragma once

#include "engine/runtime/snapshot.h"

namespace shardlens {
struct Snapshot;  // engine/runtime/snapshot.h
}

namespace shardlens::ui {

struct ViewState;

struct TimelineView {
  double begin_seconds = 0, end_seconds = 0;  ///< equal: all of the run
  bool whole_recording = false;  ///< all passes of the recording, although this machine's run is beside it
};

/// Moves the stretch by `share` of its length: the keys A and D.
void pan_timeline(ViewState& view, const Snapshot& snapshot, double share);
/// Makes the stretch `factor` times as long, about the selected step if it is in view: the keys W and S.
void zoom_timeline(ViewState& view, const Snapshot& snapshot, double factor);

}  // namespace shardlens::ui
