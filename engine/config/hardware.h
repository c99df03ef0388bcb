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
  int64_t memory_bytes = 0;             ///< per device, vendors' 1e9 bytes a GB; of this machine: all its ranks share
  int ranks_per_node = 1;
  double fp16_flops = 0;                ///< peak FLOP/s per device; 0: unknown (this machine until measured)
  double bf16_flops = 0;                ///< 0 also where the device has no such arithmetic
  double fp32_flops = 0;
  double fp64_flops = 0;
  double memory_bytes_per_second = 0;
  double link_latency_seconds = 0;      ///< alpha, inside a node
  double link_bytes_per_second = 0;     ///< beta, per rank and direction, inside a node
  double node_latency_seconds = 0;      ///< alpha between nodes
  double node_bytes_per_second = 0;     ///< beta between nodes, per node and direction: its ranks share it
  std::string note;                     ///< where the figures come from

  double flops(DType dtype) const;
};

/// All presets, this machine first. Read from the programs' own copy of the file, once.
const std::vector<Hardware>& hardware_presets();
/// By name; throws a request Error with the nearest name.
const Hardware& find_hardware(const std::string& name);
/// "this-machine", "v100-32gb", "a100-80gb", "h100-80gb", "h200-141gb".
std::vector<std::string> hardware_names();

/// Bytes this process may still allocate now: free and reclaimable memory, within a container's limit.
int64_t available_memory_bytes();

}  // namespace shardlens
