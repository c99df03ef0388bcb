// The GEMM ceiling: how fast this machine multiplies matrices of given shapes, with as many ranks as share
// it. Every percentage of a ceiling that the program prints is relative to this, measured in the same run.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/device/device.h"

namespace shardlens {

/// op(A)[m, k] · op(B)[k, n], densely stored.
struct GemmShape {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  bool wide_result = false;  ///< C is fp32, although A and B have 16 bits

  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  bool operator==(const GemmShape&) const = default;
};

/// FLOP/s of all ranks together: lowest, median and highest of the repetitions.
struct GemmRate {
  GemmShape shape;
  double lowest_flops = 0;
  double median_flops = 0;
  double highest_flops = 0;
};

struct GemmCeiling {
  int ranks = 0;
  int threads_per_rank = 0;
  int repetitions = 0;
  std::vector<GemmRate> rates;  ///< one per shape, in the order of the request

  /// The fastest shape: the one with the highest median. `rates` must not be empty.
  const GemmRate& best() const;
};

/// Makes the device of rank `rank`. Called in the rank's own thread.
using MakeDevice = std::function<std::unique_ptr<Device>(int rank)>;

/// Multiplies each shape on `ranks` devices at once, `repetitions` times after a warm-up. Every rank has its
/// own operands. Without `make_device` the devices are CPUs with `threads_per_rank` threads. A repetition
/// lasts from the first rank's start to the last one's end. Throws a request Error if a count is below 1 or a
/// shape is empty.
GemmCeiling measure_gemm_ceiling(DType dtype, const std::vector<GemmShape>& shapes, int ranks,
                                 int threads_per_rank, int repetitions, const MakeDevice& make_device = {});

}  // namespace shardlens
