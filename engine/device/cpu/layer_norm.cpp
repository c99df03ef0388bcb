// LayerNorm over the hidden axis, forward and backward. Mean and variance of a whole row take two passes over
// it while it stays in cache, so that a large mean cannot swallow a small variance. Of a row that is spread
// over ranks they come from Σx and Σx², which the ranks can add up (CutNorm).
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/column_sums.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/residual_row.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

// kRowGroup rows are also what a thread takes at a time.
constexpr int64_t kColumnStrip = 64;  // columns of dgamma and dbeta a thread sums at a time

/// Sum over i < count of term(vector i), where the vector's missing lanes at the end must contribute 0.
template <class T, class Term>
[[gnu::always_inline]] inline T sum_row(int64_t count, Term term) {
  return sum_lanes<T>(fold_vectors<T>(
      count, Vector<T>{}, [&](Vector<T> total, int64_t i, auto n) { return total + term(i, n); }));
}

template <class S, class T = Computed<S>>
void normalize_row(int64_t cols, T epsilon, const S* x, const S* gamma, const S* beta, S* y, T* stats) {
  const T mean =
      sum_row<T>(cols, [&](int64_t i, auto n) { return load_ahead(x + i, n, T(0)); }) / static_cast<T>(cols);
  const T squares = sum_row<T>(cols, [&](int64_t i, auto n) {
    const Vector<T> centred = load_part(x + i, n, mean) - mean;
    return centred * centred;
  });
  const T inverse = T(1) / std::sqrt(squares / static_cast<T>(cols) + epsilon);
  for_vectors<T>(cols, [&](int64_t i, auto n) {
    const Vector<T> hat = (load_part(x + i, n, mean) - mean) * inverse;
    store_part(y + i, hat * load_part(gamma + i, n, T(0)) + load_part(beta + i, n, T(0)), n);
  });
  stats[0] = mean;
  stats[1] = inverse;
}

/// A row's mean and 1/sqrt(var + epsilon).
template <class T>
struct Moments {
  T mean, inverse;
};

/// Those of row `row` as layer_norm() left them, or from the sums over its `hidden` columns.
template <class T>
Moments<T> stored_moments(const T* stats, int64_t row) {
  return {stats[2 * row], stats[2 * row + 1]};
}
template <class T>
Moments<T> summed_moments(const CutNorm& norm, const T* sums, int64_t row) {
  const T mean = sums[2 * row] / static_cast<T>(norm.hidden);
  const T variance = std::max(sums[2 * row + 1] / static_cast<T>(norm.hidden) - mean * mean, T(0));
  return {mean, T(1) / std::sqrt(variance + static_cast<T>(norm.epsilon))};
}

/// A row's Σg and Σg·hat over `cols` columns, with g = gamma·dy and hat = (x − mean)·inverse; and, from their
/// means over the whole row, dx = inverse·(g − mean(g) − hat·mean(g·hat)).
template <class S, class T = Computed<S>>
struct GradRow {
  int64_t cols;
  const S *x, *gamma, *dy;
  Moments<T> moments;

  Vector<T> scaled(int64_t i, auto n) const {
    return load_part(dy + i, n, T(0)) * load_part(gamma + i, n, T(0));
  }
  Vector<T> hat(int64_t i, auto n) const {
    return (load_part(x + i, n, moments.mean) - moments.mean) * moments.inverse;
  }
  T sum_g() const {
    return sum_row<T>(cols, [&](int64_t i, auto n) { return scaled(i, n); });
  }
  T sum_gh() const {
    return sum_row<T>(cols, [&](int64_t i, auto n) { return scaled(i, n) * hat(i, n); });
  }
  Vector<T> gradient(int64_t i, auto n, T mean_g, T mean_gh) const {
    return (scaled(i, n) - mean_g - hat(i, n) * mean_gh) * moments.inverse;
  }
  /// dx, plus the row `addend` unless that is null.
  void write(T mean_g, T mean_gh, S* dx, const S* addend = nullptr) const {
    if (addend == nullptr)
      for_vectors<T>(cols,
                     [&](int64_t i, auto n) { store_part(dx + i, gradient(i, n, mean_g, mean_gh), n); });
    else
      for_vectors<T>(cols, [&](int64_t i, auto n) {
        const Vector<T> own = as_stored<S>(gradient(i, n, mean_g, mean_gh));
        store_part(dx + i, own + load_part(addend + i, n, T(0)), n);
      });
  }
};

/// dgamma += Σ dy·hat and dbeta += Σ dy over the rows from `begin` to `end`, for `width` columns from `first`
/// on; moments(row) are a row's.
template <class S, class T = Computed<S>, class RowMoments>
void grad_columns(int64_t begin, int64_t end, int64_t cols, int64_t first, int64_t width, const S* x,
                  const RowMoments& moments, const S* dy, T* dgamma, T* dbeta) {
  T gamma_total[kColumnStrip] = {}, beta_total[kColumnStrip] = {};
  std::copy_n(dgamma + first, width, gamma_total);
  std::copy_n(dbeta + first, width, beta_total);
  for (int64_t top = begin; top < end; top += kRowGroup) {
    T gamma_part[kColumnStrip] = {}, beta_part[kColumnStrip] = {};
    for (int64_t row = top; row < std::min(end, top + kRowGroup); ++row) {
      const auto [mean, inverse] = moments(row);
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

/// work(row) for every row, in groups.
template <class Work>
void for_rows(int threads, int64_t rows, const Work& work) {
  parallel_for(threads, (rows + kRowGroup - 1) / kRowGroup, [&](int64_t group) {
    for (int64_t row = group * kRowGroup; row < std::min(rows, (group + 1) * kRowGroup); ++row) work(row);
  });
}

/// grad_columns() for all columns and then work(row) for every row, which may overwrite the row of dy. One
/// thread does both while a group of rows is in its cache; several share out the columns first, and then the
/// rows. The sums are made in the same order.
template <class S, class RowMoments, class Work>
void grad_columns_and_rows(int threads, int64_t rows, int64_t cols, const S* x, const RowMoments& moments,
                           const S* dy, void* dgamma, void* dbeta, bool accumulate, const Work& work) {
  using T = Computed<S>;
  if (!accumulate) {
    std::fill_n(static_cast<T*>(dgamma), cols, T(0));
    std::fill_n(static_cast<T*>(dbeta), cols, T(0));
  }
  const auto columns = [&](int64_t begin, int64_t end) {
    parallel_for(threads, (cols + kColumnStrip - 1) / kColumnStrip, [&](int64_t strip) {
      const int64_t first = strip * kColumnStrip;
      grad_columns<S>(begin, end, cols, first, std::min(kColumnStrip, cols - first), x, moments, dy,
                      static_cast<T*>(dgamma), static_cast<T*>(dbeta));
    });
  };
  if (threads > 1) {
    columns(0, rows);
    for_rows(threads, rows, work);
    return;
  }
  for (int64_t begin = 0; begin < rows; begin += kRowGroup) {
    const int64_t end = std::min(rows, begin + kRowGroup);
    columns(begin, end);
    for (int64_t row = begin; row < end; ++row) {
      ask_for(x, (row + kRowGroup) * cols, cols);
      ask_for(dy, (row + kRowGroup) * cols, cols);
      work(row);
    }
  }
}

}  // namespace

void CpuDevice::layer_norm(DType dtype, int64_t rows, int64_t cols, double epsilon, const void* x,
                           const void* gamma, const void* beta, void* y, void* stats, const SumBefore& sum) {
  with_element_type(dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    for_rows(threads_, rows, [&](int64_t row) {
      const S* in = static_cast<const S*>(x) + row * cols;
      if (sum.a != nullptr) {
        S* total = static_cast<S*>(sum.sum) + row * cols;
        add_to_residual<S>(cols, in, static_cast<const S*>(sum.a) + row * cols,
                           static_cast<const S*>(sum.bias), total);
        in = total;
      }
      normalize_row<S>(cols, static_cast<T>(epsilon), in, static_cast<const S*>(gamma),
                       static_cast<const S*>(beta), static_cast<S*>(y) + row * cols,
                       static_cast<T*>(stats) + 2 * row);
    });
  });
}

void CpuDevice::layer_norm_grad(DType dtype, int64_t rows, int64_t cols, const void* x, const void* gamma,
                                const void* stats, const void* dy, void* dx, void* dgamma, void* dbeta,
                                bool accumulate, const void* addend) {
  with_element_type(dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const S* inputs = static_cast<const S*>(x);
    const S* grads = static_cast<const S*>(dy);
    const auto moments = [stats](int64_t row) { return stored_moments(static_cast<const T*>(stats), row); };
    grad_columns_and_rows<S>(
        threads_, rows, cols, inputs, moments, grads, dgamma, dbeta, accumulate, [&](int64_t row) {
          const GradRow<S> one{cols, inputs + row * cols, static_cast<const S*>(gamma), grads + row * cols,
                               moments(row)};
          const T count = static_cast<T>(cols);
          S* out = static_cast<S*>(dx) + row * cols;
          one.write(one.sum_g() / count, one.sum_gh() / count, out,
                    addend == nullptr ? nullptr : static_cast<const S*>(addend) + row * cols);
        });
  });
}

void CpuDevice::layer_norm_sums(const CutNorm& norm, const void* x, void* sums) {
  with_element_type(norm.dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    for_rows(threads_, norm.rows, [&](int64_t row) {
      const S* in = static_cast<const S*>(x) + row * norm.cols;
      T* out = static_cast<T*>(sums) + 2 * row;
      out[0] = sum_row<T>(norm.cols, [&](int64_t i, auto n) { return load_ahead(in + i, n, T(0)); });
      out[1] = sum_row<T>(norm.cols, [&](int64_t i, auto n) {
        const Vector<T> value = load_part(in + i, n, T(0));
        return value * value;
      });
    });
  });
}

void CpuDevice::layer_norm_apply(const CutNorm& norm, const void* x, const void* gamma, const void* beta,
                                 const void* sums, void* y) {
  with_element_type(norm.dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const S *gains = static_cast<const S*>(gamma), *shifts = static_cast<const S*>(beta);
    for_rows(threads_, norm.rows, [&](int64_t row) {
      const auto [mean, inverse] = summed_moments(norm, static_cast<const T*>(sums), row);
      const S* in = static_cast<const S*>(x) + row * norm.cols;
      S* out = static_cast<S*>(y) + row * norm.cols;
      for_vectors<T>(norm.cols, [&](int64_t i, auto n) {
        const Vector<T> hat = (load_ahead(in + i, n, mean) - mean) * inverse;
        store_part(out + i, hat * load_part(gains + i, n, T(0)) + load_part(shifts + i, n, T(0)), n);
      });
    });
  });
}

void CpuDevice::layer_norm_grad_sums(const CutNorm& norm, const void* x, const void* gamma, const void* sums,
                                     const void* dy, void* dsums, void* dgamma, void* dbeta,
                                     bool accumulate) {
  with_element_type(norm.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const S* inputs = static_cast<const S*>(x);
    const S* grads = static_cast<const S*>(dy);
    const auto moments = [&](int64_t row) { return summed_moments(norm, static_cast<const T*>(sums), row); };
    grad_columns_and_rows<S>(
        threads_, norm.rows, norm.cols, inputs, moments, grads, dgamma, dbeta, accumulate, [&](int64_t row) {
          const GradRow<S> one{norm.cols, inputs + row * norm.cols, static_cast<const S*>(gamma),
                               grads + row * norm.cols, moments(row)};
          T* out = static_cast<T*>(dsums) + 2 * row;
          out[0] = one.sum_g();
          out[1] = one.sum_gh();
        });
  });
}

void CpuDevice::layer_norm_grad_apply(const CutNorm& norm, const void* x, const void* gamma, const void* sums,
                                      const void* dy, const void* dsums, void* dx) {
  with_element_type(norm.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    for_rows(threads_, norm.rows, [&](int64_t row) {
      const GradRow<S> one{norm.cols, static_cast<const S*>(x) + row * norm.cols,
                           static_cast<const S*>(gamma), static_cast<const S*>(dy) + row * norm.cols,
                           summed_moments(norm, static_cast<const T*>(sums), row)};
      const T* whole = static_cast<const T*>(dsums) + 2 * row;
      const T count = static_cast<T>(norm.hidden);
      one.write(whole[0] / count, whole[1] / count, static_cast<S*>(dx) + row * norm.cols);
    });
  });
}

}  // namespace shardlens::cpu
