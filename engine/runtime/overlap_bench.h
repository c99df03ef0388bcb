// Whether overlap pays on this machine: the same layer with its row-parallel products reduced whole and in
// parts, run in turn, so that a noisy machine disturbs all alike.
#pragma once

#include <vector>

#include "engine/config/settings.h"

namespace shardlens {

struct OverlapPoint {
  int chunks = 1;                 ///< Settings::overlap_chunks
  double median_seconds = 0;      ///< forward and backward, slowest rank
  double of_whole = 1;            ///< median over the rounds of this round's time over the unchunked one's
  double compute_seconds = 0;     ///< rank 0, median: all its steps but the collectives
  double collective_seconds = 0;  ///< rank 0, median: waiting for the others and summing, overlapped or not
};

/// `settings` with each of `chunks` (the first is what the others are held against), `rounds` rounds after
/// one that warms up. Throws what check_runnable() and the run throw.
std::vector<OverlapPoint> bench_overlap(const Settings& settings, const std::vector<int>& chunks, int rounds);

}  // namespace shardlens
