// The memory wall: what mixed-precision Adam keeps for every parameter through the whole run, before any
// activation, and the smallest tensor-parallel degree at which one device can hold its share. Only cutting
// the model itself lowers a rank's column; a data-parallel copy is another column of the same height.
#pragma once

#include <array>
#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// One of the five things kept for each parameter.
struct WallPart {
  std::string name;
  std::string why;
  int bytes_per_parameter = 0;
};

/// Weights 2, gradients 2, master weights 4, Adam m 4, Adam v 4: 16 bytes per parameter.
const std::array<WallPart, 5>& wall_parts();

/// One rank's bytes, part by part in the order of wall_parts().
struct WallBytes {
  std::array<double, 5> parts{};
  double total() const;
};

/// Returns one rank's bytes for this many parameters at degree T, if all of them are cut evenly: a
/// back-of-the-envelope estimate.
WallBytes wall_bytes(double parameters, int tp);

/// Returns the smallest T among 1, 2, 4, ... 1024 at which wall_bytes fits into `limit_bytes`; 0 if none
/// does. Powers of two, because groups must fill nodes of 8 or 16 devices.
int smallest_degree(double parameters, double limit_bytes);

}  // namespace shardlens
