// A row times a matrix: what every matrix product of a one-token pass is. Each element of B is read once and
// used once, so memory sets the pace and not arithmetic.
#pragma once

#include <span>

#include "engine/device/cpu/gemm.h"
#include "engine/device/cpu/vector.h"
#include "engine/io/half.h"

namespace shardlens::cpu {

/// One of the products of multiply_rows(): y[n] = x[k]·B, or y + x·B. B is stored [k, n] or, transposed,
/// [n, k], as S, and computed with as T: itself, or float of a 16-bit type.
template <class T, class S>
struct RowProduct {
  const T* x;
  Rows<const S> b;
  T* y;
};

/// Products of the same extents, a row of every B after the other's: matrices side by side in memory, such as
/// the heads of a cache, are read as they lie. An element of a y has the same bits whatever it is computed
/// with.
template <class T, class S>
void multiply_rows(std::span<const RowProduct<T, S>> products, bool transpose_b, int64_t n, int64_t k,
                   bool accumulate = false);

extern template void multiply_rows(std::span<const RowProduct<float, float>>, bool, int64_t, int64_t, bool);
extern template void multiply_rows(std::span<const RowProduct<double, double>>, bool, int64_t, int64_t, bool);
extern template void multiply_rows(std::span<const RowProduct<float, Bf16>>, bool, int64_t, int64_t, bool);
extern template void multiply_rows(std::span<const RowProduct<float, Fp16>>, bool, int64_t, int64_t, bool);

/// Columns of a matrix whose sums stay in registers while all of its rows are read.
inline constexpr int64_t kPanelCols = 8 * kLanes<float>;

/// y += x[k]·B of the columns `cols` of a B [k, n] that lies in panels of kPanelCols
/// (engine/device/panels.h): to the bits of multiply_rows(). `y` is those columns' alone.
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
