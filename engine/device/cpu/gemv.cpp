// The two forms of a row times a matrix, each reading B as a few long streams side by side, which is what the
// hardware's prefetchers keep up with: oneDNN's kernels reached two thirds of the memory's speed where these
// reach it within a few percent.
#include "engine/device/cpu/gemv.h"

#include <algorithm>

#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

/// y[0, n) += Σ x[r]·B[r, 0 … n) of R rows of B [k, n]: the rows' products are summed in registers, so that
/// y, which stays in cache, is read and written once for all of them.
template <int R, class T, class S>
void add_rows(const T* x, Rows<const S> b, int64_t n, T* y) {
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    const int64_t count = std::min(kLanes<T>, n - i);
    Vector<T> sum = load_part(y + i, count, T(0));
    for (int r = 0; r < R; ++r) sum += load_part(b.at(r) + i, count, T(0)) * x[r];
    store_part<T>(y + i, sum, count);
  }
}

/// y[r] += x·B[r, 0 … k) for R rows of B [n, k].
template <int R, class T, class S>
void add_dots(const T* x, Rows<const S> b, int64_t k, T* y) {
  Vector<T> sums[R] = {};
  for (int64_t i = 0; i < k; i += kLanes<T>) {
    const int64_t count = std::min(kLanes<T>, k - i);
    const Vector<T> from_x = load_part(x + i, count, T(0));
    for (int r = 0; r < R; ++r) sums[r] += load_part(b.at(r) + i, count, T(0)) * from_x;
  }
  for (int r = 0; r < R; ++r) y[r] += sum_lanes<T>(sums[r]);
}

}  // namespace

template <class T, class S>
void multiply_row(const T* x, Rows<const S> b, bool transpose_b, int64_t n, int64_t k, bool accumulate,
                  T* y) {
  constexpr int kRows = 8, kDots = 4;
  if (!accumulate) std::fill_n(y, n, T(0));
  int64_t row = 0;
  if (transpose_b) {
    for (; row + kDots <= n; row += kDots) add_dots<kDots>(x, b.from(row), k, y + row);
    for (; row < n; ++row) add_dots<1>(x, b.from(row), k, y + row);
  } else {
    for (; row + kRows <= k; row += kRows) add_rows<kRows>(x + row, b.from(row), n, y);
    for (; row < k; ++row) add_rows<1>(x + row, b.from(row), n, y);
  }
}

template void multiply_row(const float*, Rows<const float>, bool, int64_t, int64_t, bool, float*);
template void multiply_row(const double*, Rows<const double>, bool, int64_t, int64_t, bool, double*);
template void multiply_row(const float*, Rows<const Bf16>, bool, int64_t, int64_t, bool, float*);
template void multiply_row(const float*, Rows<const Fp16>, bool, int64_t, int64_t, bool, float*);

}  // namespace shardlens::cpu
