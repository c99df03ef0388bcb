// The state of the replay: its speed, and whether this machine runs the same settings.
#pragma once

namespace shardlens::ui {

struct ReplayView {
  double speed = 0;       ///< recorded seconds a second; 0: step by step, at the pace of a run's walk
  bool run_here = false;  ///< run the recording's settings on this machine, in this frame
  bool beside = false;    ///< that run is shown beside the recording
};

}  // namespace shardlens::ui
