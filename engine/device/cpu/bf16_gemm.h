// The matrix product of bf16 matrices by instructions made for it.
#pragma once

#include "engine/device/device.h"

namespace shardlens::cpu {

/// True where oneDNN multiplies bf16 faster than the same numbers widened to fp32: with AMX, and with
/// AVX512_BF16 on AMD's cores. (Intel's cores without AMX take that instruction at half the pace of two fp32
/// FMAs: 110 instead of 135 GFLOP/s measured on one.)
bool has_bf16_instructions();

/// Device::gemm of bf16 matrices with m, n and k of at least 1, on up to `threads` threads, where
/// has_bf16_instructions(). Sums are fp32, rounded once. An element has the same bits whatever part of C of
/// at least two rows and two columns it is computed with. Throws a run Error when oneDNN refuses.
void bf16_gemm(const Gemm& gemm, int threads);

}  // namespace shardlens::cpu
