// A product with something after it (Gemm::after) on a device that has no such product, or not of this one:
// the product, and a pass over what it stored.
#pragma once

#include <utility>

#include "engine/device/device.h"

namespace shardlens {

inline void product_and_pass(Device& device, Gemm gemm) {
  const AfterProduct after = std::exchange(gemm.after, AfterProduct::Nothing);
  const int64_t count = gemm.m * gemm.n;
  void* const c = gemm.c;
  if (after == AfterProduct::Gelu) gemm.c = gemm.before;
  device.gemm(gemm);
  if (after == AfterProduct::Gelu) return device.gelu(gemm.dtype, gemm.form, count, gemm.before, c);
  device.gelu_grad(gemm.dtype, gemm.form, count, gemm.before, c, c, gemm.sums);
}

}  // namespace shardlens
