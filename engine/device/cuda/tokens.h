// Which operations on few tokens the CUDA device computes with kernels of their own, instead of with the
// library's products and with the kernels for whole texts.
#pragma once

#include "engine/device/operations.h"

namespace shardlens::cuda {

/// Both depend only on what is the same on all ranks that share the columns or the heads.
bool suits_token_product(const Gemm& gemm);
/// A rank without heads has no kernel, and only the positions are checked.
bool suits_token_attention(const CacheShape& cache);

}  // namespace shardlens::cuda
