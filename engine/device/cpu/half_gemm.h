// The product of 16-bit matrices.
#pragma once

#include "engine/device/device.h"

namespace shardlens::cpu {

/// Device::gemm for a 16-bit dtype, on up to `threads` threads. The bias has that dtype. C has it too, or is
/// fp32 with wide_result.
void half_gemm(const Gemm& gemm, int threads);

}  // namespace shardlens::cpu
