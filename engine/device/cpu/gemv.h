// A row times a matrix, the form of every matrix product in a pass over one token. Each element of B is read
// and used once, so memory limits the speed, not arithmetic.
#pragma once

#include <span>

#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/vector.h"
#include "engine/io/half.h"

namespace shardlens::cpu {

/// One product of multiply_rows(): y[n] = x[k]·B, or y + x·B. B is stored as [k, n], or as [n, k] if
/// transposed. S is its stored type, T the type to compute in: S, or float for a 16-bit type.
template <class T, class S>
struct RowProduct {
  const T* x;
  Rows<const S> b;
  T* y;
};

/// Computes products of the same extents. It reads one row of every B before the next row, so matrices next
/// to each other in memory, such as the heads of a cache, are read in memory order. An element's bits do not
/// depend on what else is computed in the call.
template <class T, class S>
void multiply_rows(std::span<const RowProduct<T, S>> products, bool transpose_b, int64_t n, int64_t k,
                   bool accumulate = false);

extern template void multiply_rows(std::span<const RowProduct<float, float>>, bool, int64_t, int64_t, bool);
extern template void multiply_rows(std::span<const RowProduct<double, double>>, bool, int64_t, int64_t, bool);
extern template void multiply_rows(std::span<const RowProduct<float, Bf16>>, bool, int64_t, int64_t, bool);
extern template void multiply_rows(std::span<const RowProduct<float, Fp16>>, bool, int64_t, int64_t, bool);

/// The columns of a panel. Their sums stay in registers while all rows are read.
inline constexpr int64_t kPanelCols = 8 * kLanes<float>;

/// y += x[k]·B for the columns `cols` of B [k, n], stored in panels of kPanelCols (engine/device/panels.h).
/// The bits are those of multiply_rows(). `y` has only these columns.
template <class T, class S>
void multiply_panels(const T* x, const S* panels, int64_t n, int64_t k, Range cols, T* y);

extern template void multiply_panels(const float*, const float*, int64_t, int64_t, Range, float*);
extern template void multiply_panels(const double*, const double*, int64_t, int64_t, Range, double*);
extern template void multiply_panels(const float*, const Bf16*, int64_t, int64_t, Range, float*);
extern template void multiply_panels(const float*, const Fp16*, int64_t, int64_t, Range, float*);

template <class T, class S>
void multiply_row(const RowProduct<T, S>& product, bool transpose_b, int64_t n, int64_t k, bool accumulate) {
  multiply_rows(std::span(&product, 1), transpose_b, n, k, accumulate);
}

}  // namespace shardlens::cpu
