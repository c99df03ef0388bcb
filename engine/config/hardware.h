// The machines a plan can be priced on: memory, arithmetic and links, read from assets/hardware.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/dtype.h"

namespace shardlens {

struct Hardware {
  std::string name;   ///< "v100-32gb"
  std::string title;  ///< "V100 32 GB"
  int64_t memory_bytes = 0;             ///< per device
  int ranks_per_node = 1;
  double fp16_flops = 0;                ///< peak FLOP/s per device; 0: unknown (this machine until measured)
  double fp32_flops = 0;
  double fp64_flops = 0;
  double memory_bytes_per_second = 0;
  double link_latency_seconds = 0;      ///< alpha, inside a node
  double link_bytes_per_second = 0;     ///< beta, per rank, inside a node
  double node_latency_seconds = 0;      ///< alpha between nodes
  double node_bytes_per_second = 0;     ///< beta between nodes
  std::string note;                     ///< where the figures come from

  double flops(DType dtype) const;
};

/// All presets, this machine first. Throws a run Error naming the file when it cannot be read.
const std::vector<Hardware>& hardware_presets();
/// By name; throws a request Error with the nearest name.
const Hardware& find_hardware(const std::string& name);

}  // namespace shardlens
