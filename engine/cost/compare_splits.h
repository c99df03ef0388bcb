// What the splits of one model cost beside each other, planned and counted without running them: bytes sent,
// FLOPs and memory of a rank. The idea: a split that sends less may compute or hold more, so the three stand
// together.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// One step at which ranks meet.
struct Meeting {
  Op op = Op::AllReduce;
  Phase phase = Phase::Forward;
  std::string symbol;      ///< of what is converted: "dV", "6 gradients"
  int64_t sent_bytes = 0;  ///< by each rank, ring figure
};

struct SplitCost {
  Split split;
  std::string refused;  ///< why this split cannot be planned; all below is empty then
  std::vector<Meeting> meetings;
  int64_t sent_bytes = 0;   ///< by each rank, forward and backward
  int64_t flops = 0;        ///< of rank 0, attention counted whole
  int64_t arena_bytes = 0;  ///< all memory of rank 0
};

/// Every named split, and settings.split first when it is none of them, for the sizes and T of `settings`.
std::vector<SplitCost> compare_splits(const Settings& settings);

}  // namespace shardlens
