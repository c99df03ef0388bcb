// The product of bf16 matrices with the processor's bf16 instructions.
#pragma once

#include "engine/device/device.h"

namespace shardlens::cpu {

/// True if oneDNN multiplies bf16 faster than the same numbers in fp32: with AMX, and with AVX512_BF16 on
/// AMD's cores. (On Intel's cores without AMX that instruction takes twice as long as two fp32 FMAs: 110
/// instead of 135 GFLOP/s on one.)
bool has_bf16_instructions();

/// Device::gemm of bf16 matrices with m, n and k of at least 1, on up to `threads` threads. Needs
/// has_bf16_instructions(). Sums are fp32, rounded once. An element's bits do not depend on the part of C
/// that it is computed with, if that has at least two rows and two columns. Throws a run Error if oneDNN
/// refuses.
void bf16_gemm(const Gemm& gemm, int threads);

}  // namespace shardlens::cpu
