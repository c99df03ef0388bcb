// GeLU of one number, x·Φ(x), for what is explained about it. The devices have their own code for tensors.
#pragma once

#include <cmath>
#include <numbers>

#include "engine/config/settings.h"

namespace shardlens {

inline double gelu(Activation form, double x) {
  if (form == Activation::GeluErf) return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

}  // namespace shardlens
