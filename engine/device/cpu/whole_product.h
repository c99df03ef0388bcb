// A matrix product of several rows on one thread, by the kernels that the build has: x86/whole_product.cpp or
// portable/whole_product.cpp. Operations call gemm.h.
#pragma once

#include <string>

#include "engine/device/cpu/gemm.h"

namespace shardlens::cpu {

/// multiply() of gemm.h, for products with m, n and k of at least 1. Throws a run Error if a library refuses.
void multiply_whole(const Product<float>& product);
void multiply_whole(const Product<double>& product);

/// The instructions that products use on this machine: "AVX-512 with AMX", "AVX-512 with bf16", "AVX-512" or
/// "AVX2", or of the portable kernels "portable" or "portable with fused multiply-adds". If two machines
/// differ in them, the last bits may differ.
std::string product_kernels();

}  // namespace shardlens::cpu
