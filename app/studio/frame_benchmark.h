// Measures the time of the studio's frames, drawn without a window.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Draws frames with every panel open, first idle, then while all ranks compute, both only where they changed
/// and whole. Prints median and 99th percentile of each kind. With a recording it times panning and zooming
/// of its timeline instead.
void benchmark_frames(const Options& options);

}  // namespace shardlens
