// Compares what the splits of one model cost, planned and counted without running them: bytes sent, FLOPs and
// memory of a rank. A split that sends less may compute or hold more, so the three figures are shown
// together.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// One collective step.
struct Meeting {
  Op op = Op::AllReduce;
  Phase phase = Phase::Forward;
  std::string symbol;      ///< of the converted tensors: "dV", "6 gradients"
  int64_t sent_bytes = 0;  ///< by each rank, ring figure
};

struct SplitCost {
  Split split;
  std::string refused;  ///< why this split cannot be planned; then all fields below are empty
  std::vector<Meeting> meetings;
  int64_t sent_bytes = 0;   ///< by each rank, forward and backward
  int64_t flops = 0;        ///< of rank 0; attention counts without its mask
  int64_t arena_bytes = 0;  ///< all memory of rank 0
};

/// Returns every named split, for the sizes and T of `settings`. If settings.split is not a named one, it
/// comes first.
std::vector<SplitCost> compare_splits(const Settings& settings);

}  // namespace shardlens
