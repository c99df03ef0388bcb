// Measures if another way of doing the same thing is faster on this machine: runs the same work in several
// variants (its reductions in parts, its passes fused), in turn, so that noise on the machine disturbs all
// alike.
#pragma once

#include <vector>

#include "engine/config/settings.h"

namespace shardlens {

struct VariantTime {
  double median_seconds = 0;  ///< of the slowest rank
  double of_first = 1;        ///< median over the rounds of the round's time over the first variant's
  double lowest_of_first = 1, highest_of_first = 1;
  double compute_seconds = 0;     ///< rank 0, median: all its steps except the collectives
  double collective_seconds = 0;  ///< rank 0, median: waiting for the others and summing, overlapped or not
};

/// Returns one time for each of `variants`; the others are compared with the first. Runs `rounds` rounds
/// after one that warms up. Throws what check_runnable() and the run throw.
std::vector<VariantTime> bench_variants(const std::vector<Settings>& variants, int rounds);

}  // namespace shardlens
