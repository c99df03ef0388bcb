// The product of bf16 matrices in blocks with a layout for AMX.
#pragma once

#include "engine/device/device.h"

namespace shardlens::cpu {

/// True if multiply_in_blocks() can be called: the processor has AMX.
bool has_blocks();

/// Device::gemm of bf16 matrices on the calling thread. The thread's OpenMP teams must be limited to one
/// thread. Sums are fp32, rounded once. An element's bits do not depend on the part of C that it is computed
/// with. Throws oneDNN's errors.
void multiply_in_blocks(const Gemm& gemm);

}  // namespace shardlens::cpu
