// A row times a matrix: what every matrix product of a one-token pass is. Each element of B is read once and
// used once, so memory sets the pace and not arithmetic.
#pragma once

#include "engine/device/cpu/gemm.h"
#include "engine/io/half.h"

namespace shardlens::cpu {

/// y[n] = x[k]·B, or with `accumulate` y + x·B. B is stored [k, n] or, with `transpose_b`, [n, k], as S, and
/// computed with as T: itself, or float of a 16-bit type. An element of y has the same bits whatever part of
/// y it is computed with.
template <class T, class S>
void multiply_row(const T* x, Rows<const S> b, bool transpose_b, int64_t n, int64_t k, bool accumulate, T* y);

extern template void multiply_row(const float*, Rows<const float>, bool, int64_t, int64_t, bool, float*);
extern template void multiply_row(const double*, Rows<const double>, bool, int64_t, int64_t, bool, double*);
extern template void multiply_row(const float*, Rows<const Bf16>, bool, int64_t, int64_t, bool, float*);
extern template void multiply_row(const float*, Rows<const Fp16>, bool, int64_t, int64_t, bool, float*);

}  // namespace shardlens::cpu
