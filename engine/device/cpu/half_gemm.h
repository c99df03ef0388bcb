// The matrix product of 16-bit matrices.
#pragma once

#include "engine/device/device.h"

namespace shardlens::cpu {

/// Device::gemm for a dtype of 16 bits, on up to `threads` threads. A bias is of that dtype too; C is, or
/// fp32 with wide_result.
void half_gemm(const Gemm& gemm, int threads);

}  // namespace shardlens::cpu
