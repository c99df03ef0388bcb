// fp32 products by BLIS, for processors on which oneDNN's sums depend on the shape.
#pragma once

#include "engine/device/cpu/gemm.h"

namespace shardlens::cpu {

/// C = op(A)·op(B) (+ C) on the calling thread. m, n and k must not be 0. An element's bits depend only on
/// its row of op(A), its column of op(B), k and the processor.
void blis_multiply(const Product<float>& product);

}  // namespace shardlens::cpu
