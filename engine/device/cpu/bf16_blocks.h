// The matrix product of bf16 matrices in blocks laid out for AMX.
#pragma once

#include "engine/device/device.h"

namespace shardlens::cpu {

/// Whether multiply_in_blocks() can be called: with AMX.
bool has_blocks();

/// Device::gemm of bf16 matrices on the calling thread, whose own teams OpenMP must keep to one thread. Sums
/// are fp32, rounded once; an element has the same bits whatever part of C it is computed with. Throws what
/// oneDNN throws.
void multiply_in_blocks(const Gemm& gemm);

}  // namespace shardlens::cpu
