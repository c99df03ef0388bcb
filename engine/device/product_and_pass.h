// A product with Gemm::after or Gemm::sums on a device that cannot fuse the two: the product, and then a pass
// over the stored result, or over B.
#pragma once

#include <utility>

#include "engine/device/device.h"

namespace shardlens {

inline void product_and_pass(Device& device, Gemm gemm) {
  const AfterProduct after = std::exchange(gemm.after, AfterProduct::Nothing);
  const BiasSums sums = std::exchange(gemm.sums, {});
  if (after == AfterProduct::Nothing) {
    device.gemm(gemm);
    return device.bias_grad(gemm.dtype, gemm.k, gemm.n, gemm.b, sums.db, sums.accumulate);
  }
  const int64_t count = gemm.m * gemm.n;
  void* const c = gemm.c;
  if (after == AfterProduct::Gelu) gemm.c = gemm.before;
  device.gemm(gemm);
  if (after == AfterProduct::Gelu) return device.gelu(gemm.dtype, gemm.form, count, gemm.before, c);
  device.gelu_grad({.dtype = gemm.dtype,
                    .form = gemm.form,
                    .count = count,
                    .x = gemm.before,
                    .dy = c,
                    .dx = c,
                    .sums = sums});
}

}  // namespace shardlens
