// How long the studio takes from the moment somebody starts it: to the first frame, and to the first frame
// that shows a layer that has run.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Starts this program over and over, each time as a process of its own with the same options, and prints
/// the median and the longest of every part. One start before them brings its files into memory.
void benchmark_start(const Options& options);

}  // namespace shardlens
