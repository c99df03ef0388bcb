// Measures how long the studio takes from its start to the first frame, and to the first frame that shows an
// executed layer.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Starts this program many times, each time as a new process with the same options, and prints the median
/// and the longest time of every part. One start before them, which does not count, loads the files into
/// memory.
void benchmark_start(const Options& options);

}  // namespace shardlens
