// Whether a way of doing the same thing pays on this machine: the same run in several variants (its
// reductions in parts, its passes fused), in turn, so that a noisy machine disturbs all alike.
#pragma once

#include <vector>

#include "engine/config/settings.h"

namespace shardlens {

struct VariantTime {
  double median_seconds = 0;  ///< of the slowest rank
  double of_first = 1;        ///< median over the rounds of this round's time over the first variant's
  double lowest_of_first = 1, highest_of_first = 1;
  double compute_seconds = 0;     ///< rank 0, median: all its steps but the collectives
  double collective_seconds = 0;  ///< rank 0, median: waiting for the others and summing, overlapped or not
};

/// One time for each of `variants`, the first of which the others are held against, over `rounds` rounds
/// after one that warms up. Throws what check_runnable() and the run throw.
std::vector<VariantTime> bench_variants(const std::vector<Settings>& variants, int rounds);

}  // namespace shardlens
