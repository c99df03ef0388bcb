// The time that the studio's frames take, drawn without a window.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Draws frames with every panel open, first idle, then while all ranks compute, each only where they changed
/// and whole, and prints median and 99th percentile of all; of a recording, what panning and zooming its
/// timeline takes.
void benchmark_frames(const Options& options);

}  // namespace shardlens
