// LayerNorm over the hidden axis, forward and backward. Mean and variance take two passes over a row that
// stays in cache, so that a large mean cannot swallow a small variance.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

constexpr int64_t kRowGroup =
    32;  // rows a thread takes at a time; also the rows summed before joining a total
constexpr int64_t kColumnStrip = 64;  // columns of dgamma and dbeta a thread sums at a time

/// Sum over i < count of term(vector i), where the vector's missing lanes at the end must contribute 0.
template <class T, class Term>
[[gnu::always_inline]] inline T sum_row(int64_t count, Term term) {
  Vector<T> total{};
  for (int64_t i = 0; i < count; i += kLanes<T>) total += term(i, std::min(kLanes<T>, count - i));
  return sum_lanes<T>(total);
}

template <class S, class T = Computed<S>>
void normalize_row(int64_t cols, T epsilon, const S* x, const S* gamma, const S* beta, S* y, T* stats) {
  const T mean = sum_row<T>(cols, [&](int64_t i, int64_t n) { return load_part(x + i, n, T(0)); }) /
                 static_cast<T>(cols);
  const T squares = sum_row<T>(cols, [&](int64_t i, int64_t n) {
    const Vector<T> centred = load_part(x + i, n, mean) - mean;
    return centred * centred;
  });
  const T inverse = T(1) / std::sqrt(squares / static_cast<T>(cols) + epsilon);
  for (int64_t i = 0; i < cols; i += kLanes<T>) {
    const int64_t n = std::min(kLanes<T>, cols - i);
    const Vector<T> hat = (load_part(x + i, n, mean) - mean) * inverse;
    store_part(y + i, hat * load_part(gamma + i, n, T(0)) + load_part(beta + i, n, T(0)), n);
  }
  stats[0] = mean;
  stats[1] = inverse;
}

/// dx = inverse·(g − mean(g) − hat·mean(g·hat)) with g = gamma·dy and hat = (x − mean)·inverse.
template <class S, class T = Computed<S>>
void grad_row(int64_t cols, const S* x, const S* gamma, const T* stats, const S* dy, S* dx) {
  const T mean = stats[0], inverse = stats[1];
  const auto scaled = [&](int64_t i, int64_t n) {
    return load_part(dy + i, n, T(0)) * load_part(gamma + i, n, T(0));
  };
  const auto hat = [&](int64_t i, int64_t n) { return (load_part(x + i, n, mean) - mean) * inverse; };
  const T mean_g = sum_row<T>(cols, scaled) / static_cast<T>(cols);
  const T mean_gh =
      sum_row<T>(cols, [&](int64_t i, int64_t n) { return scaled(i, n) * hat(i, n); }) / static_cast<T>(cols);
  for (int64_t i = 0; i < cols; i += kLanes<T>) {
    const int64_t n = std::min(kLanes<T>, cols - i);
    store_part(dx + i, (scaled(i, n) - mean_g - hat(i, n) * mean_gh) * inverse, n);
  }
}

/// dgamma = Σ dy·hat and dbeta = Σ dy over the rows, for `width` columns from `first` on.
template <class S, class T = Computed<S>>
void grad_columns(int64_t rows, int64_t cols, int64_t first, int64_t width, const S* x, const T* stats,
                  const S* dy, T* dgamma, T* dbeta, bool accumulate) {
  T gamma_total[kColumnStrip] = {}, beta_total[kColumnStrip] = {};
  if (accumulate) {
    std::copy_n(dgamma + first, width, gamma_total);
    std::copy_n(dbeta + first, width, beta_total);
  }
  for (int64_t top = 0; top < rows; top += kRowGroup) {
    T gamma_part[kColumnStrip] = {}, beta_part[kColumnStrip] = {};
    for (int64_t row = top; row < std::min(rows, top + kRowGroup); ++row) {
      const T mean = stats[2 * row], inverse = stats[2 * row + 1];
      const S* x_row = x + row * cols + first;
      const S* dy_row = dy + row * cols + first;
      for (int64_t i = 0; i < width; ++i) {
        gamma_part[i] += T(dy_row[i]) * ((T(x_row[i]) - mean) * inverse);
        beta_part[i] += T(dy_row[i]);
      }
    }
    for (int64_t i = 0; i < width; ++i) {
      gamma_total[i] += gamma_part[i];
      beta_total[i] += beta_part[i];
    }
  }
  std::copy_n(gamma_total, width, dgamma + first);
  std::copy_n(beta_total, width, dbeta + first);
}

}  // namespace

void CpuDevice::layer_norm(DType dtype, int64_t rows, int64_t cols, double epsilon, const void* x,
                           const void* gamma, const void* beta, void* y, void* stats) {
  with_element_type(dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    parallel_for(threads_, (rows + kRowGroup - 1) / kRowGroup, [&](int64_t group) {
      for (int64_t row = group * kRowGroup; row < std::min(rows, (group + 1) * kRowGroup); ++row)
        normalize_row<S>(cols, static_cast<T>(epsilon), static_cast<const S*>(x) + row * cols,
                         static_cast<const S*>(gamma), static_cast<const S*>(beta),
                         static_cast<S*>(y) + row * cols, static_cast<T*>(stats) + 2 * row);
    });
  });
}

void CpuDevice::layer_norm_grad(DType dtype, int64_t rows, int64_t cols, const void* x, const void* gamma,
                                const void* stats, const void* dy, void* dx, void* dgamma, void* dbeta,
                                bool accumulate) {
  with_element_type(dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const S* inputs = static_cast<const S*>(x);
    const T* scales = static_cast<const T*>(stats);
    const S* grads = static_cast<const S*>(dy);
    // Columns first: dx may be dy.
    parallel_for(threads_, (cols + kColumnStrip - 1) / kColumnStrip, [&](int64_t strip) {
      const int64_t first = strip * kColumnStrip;
      grad_columns<S>(rows, cols, first, std::min(kColumnStrip, cols - first), inputs, scales, grads,
                      static_cast<T*>(dgamma), static_cast<T*>(dbeta), accumulate);
    });
    parallel_for(threads_, (rows + kRowGroup - 1) / kRowGroup, [&](int64_t group) {
      for (int64_t row = group * kRowGroup; row < std::min(rows, (group + 1) * kRowGroup); ++row)
        grad_row<S>(cols, inputs + row * cols, static_cast<const S*>(gamma), scales + 2 * row,
                    grads + row * cols, static_cast<S*>(dx) + row * cols);
    });
  });
}

}  // namespace shardlens::cpu
