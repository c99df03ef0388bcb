// Sixteen bytes per parameter, spread over T ranks.
#include "engine/cost/memory_wall.h"

#include <numeric>

#include "engine/config/presets.h"
#include "engine/program/layout.h"

namespace shardlens {

const std::array<WallPart, 5>& wall_parts() {
  static const std::array<WallPart, 5> parts = {{{"weights", "in half precision", 2},
                                                 {"gradients", "as many as weights, in half precision", 2},
                                                 {"master weights", "the fp32 copy that is updated", 4},
                                                 {"Adam m", "running mean of the gradient, fp32", 4},
                                                 {"Adam v", "running mean of its square, fp32", 4}}};
  return parts;
}

double WallBytes::total() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

WallBytes wall_bytes(double parameters, int tp) {
  WallBytes bytes;
  for (size_t part = 0; part < bytes.parts.size(); ++part) {
    bytes.parts[part] = parameters * wall_parts()[part].bytes_per_parameter / tp;
  }
  return bytes;
}

int smallest_degree(double parameters, double limit_bytes) {
  for (int tp = 1; tp <= 1024; tp *= 2) {
    if (wall_bytes(parameters, tp).total() <= limit_bytes) return tp;
  }
  return 0;
}

}  // namespace shardlens
