// The machines that a plan can be priced on: memory, arithmetic and links. Presets of vendors' machines come
// from assets/hardware.json, which names the public source of every figure. For this machine the operating
// system is asked, and `bench calibrate` measures it (hardware_file.h).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/dtype.h"

namespace shardlens {

/// One kind of step in a measurement, with `ranks` ranks that compute at the same time.
struct RateKey {
  std::string op;  ///< "linear", from to_string(Op)
  DType dtype = DType::Fp32;
  int ranks = 1;
  auto operator<=>(const RateKey&) const = default;
};

/// Work is FLOPs if the step has any, else bytes touched; a rank does `per_second` of it in a second.
struct RatePoint {
  double work = 0;
  double per_second = 0;
  bool operator==(const RatePoint&) const = default;
};

/// Measured alpha and beta of a collective: seconds a ring hop, and bytes per second that each rank sends.
struct LinkRate {
  double latency_seconds = 0;
  double bytes_per_second = 0;
  bool operator==(const LinkRate&) const = default;
};

struct Hardware {
  std::string name;          ///< "v100-32gb"
  std::string title;         ///< "V100 32 GB"
  std::string basis;         ///< how its figures were obtained; the same holds for times predicted from them
  int64_t memory_bytes = 0;  ///< per device, vendors' 1e9 bytes a GB; this machine: all its ranks share it
  int ranks_per_node = 1;    ///< GPUs of a node; this machine: its cores, which more ranks can share
  int nodes = 0;             ///< 0: as many as the ranks need
  double fp16_flops = 0;     ///< peak FLOP/s per device; 0: unknown (this machine until measured)
  double bf16_flops = 0;     ///< 0 also if the device has no such arithmetic
  double fp32_flops = 0;
  double fp64_flops = 0;
  double memory_bytes_per_second = 0;
  double link_latency_seconds = 0;   ///< alpha, inside a node
  double link_bytes_per_second = 0;  ///< beta, per rank and direction, inside a node
  double node_latency_seconds = 0;   ///< alpha between nodes
  double node_bytes_per_second = 0;  ///< beta between nodes, per node and direction: its ranks share it
  std::vector<std::pair<std::string, std::string>> sources;  ///< for each figure, where it comes from
  std::map<RateKey, std::vector<RatePoint>> rates;  ///< measured, ascending work; empty: only peaks are known
  std::map<std::pair<std::string, int>, LinkRate> links;  ///< measured, by collective and ranks

  double flops(DType dtype) const;
  bool is_calibrated() const { return !rates.empty(); }
  /// The largest number of ranks; 0: any number.
  int64_t most_ranks() const { return nodes > 1 ? int64_t{nodes} * ranks_per_node : 0; }
  /// Returns the work that a rank does in a second in such a step when `ranks` compute at once. Interpolates
  /// between the measured amounts of work and never goes beyond them. If `ranks` is above the measured
  /// numbers, they share the cores. Returns 0 if nothing was measured.
  double measured_rate(const std::string& op, DType dtype, int ranks, double work) const;
  /// Returns alpha and beta of `collective` over `ranks`, or over the nearest smaller number of ranks that
  /// was measured; zeros if there is none.
  LinkRate measured_link(const std::string& collective, int ranks) const;
  bool operator==(const Hardware&) const = default;
};

/// Returns all presets: this machine first (calibrated, if it was), the vendors' devices, then two nodes of
/// each of them. Read once.
const std::vector<Hardware>& hardware_presets();
/// Returns a preset by name, or from a file with a preset ("FILE.json", read once). Throws a request Error
/// with the nearest name.
const Hardware& find_hardware(const std::string& name);
/// "this-machine", "v100-32gb", "a100-80gb", "h100-80gb", "h200-141gb", "v100-32gb-2-nodes", ...
std::vector<std::string> hardware_names();

/// Returns the bytes that this process may still allocate now: memory_left() (engine/base/limits.h).
int64_t available_memory_bytes();

}  // namespace shardlens
