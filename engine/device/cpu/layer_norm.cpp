// LayerNorm over the hidden axis, forward and backward. Mean and variance take two passes over a row while it
// stays in cache, so that a small variance is not lost against a large mean. For a row that is cut across the
// ranks, each rank does so with its own columns, and all ranks' sums give the moments of the whole row
// (CutNorm).
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/column_sums.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/residual_row.h"
#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

namespace {

/// The sum of term(vector i) over i < count. Missing lanes at the end must contribute 0.
template <class T, class Term>
[[gnu::always_inline]] inline T sum_row(int64_t count, const Term& term) {
  constexpr int kSums = 4;  // side by side: an addition takes four times as long as the next can wait for it
  constexpr std::integral_constant<int64_t, kLanes<T>> kWhole;
  Vector<T> sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kWhole <= count; i += kSums * kWhole)
    for (int s = 0; s < kSums; ++s) sums[s] += term(i + s * kWhole, kWhole);
  for (; i + kWhole <= count; i += kWhole) sums[0] += term(i, kWhole);
  if (i < count) sums[0] += term(i, count - i);
  return sum_lanes<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// Σx over a row's columns, and Σ(x − m)² about their mean m.
template <class T>
struct RowSums {
  T sum, squares;
};

template <class S, class T = Computed<S>>
RowSums<T> sums_of_row(int64_t cols, const S* x) {
  const T sum = sum_row<T>(cols, [&](int64_t i, auto n) { return load_ahead(x + i, n, T(0)); });
  const T mean = sum / static_cast<T>(cols);
  return {sum, sum_row<T>(cols, [&](int64_t i, auto n) {
            const Vector<T> centred = load_part(x + i, n, mean) - mean;
            return centred * centred;
          })};
}

template <class S, class T = Computed<S>>
void normalize_row(int64_t cols, T epsilon, const S* x, const S* gamma, const S* beta, S* y, T* stats) {
  const RowSums<T> sums = sums_of_row(cols, x);
  const T mean = sums.sum / static_cast<T>(cols);
  const T inverse = T(1) / std::sqrt(sums.squares / static_cast<T>(cols) + epsilon);
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

/// The moments of row `row` for its gradient, as the forward pass stored them. A whole row of one column,
/// whose `hidden` is 1, is its shift whatever x is. So its gradient is exactly 0, and 1/σ counts as 0:
/// computed, it would be the rounding error of gamma·dy, which 1/sqrt(epsilon) makes large.
template <class T>
Moments<T> stored_moments(int64_t hidden, const T* stats, int64_t row) {
  return {stats[2 * row], hidden == 1 ? T(0) : stats[2 * row + 1]};
}

/// The moments of a whole row from the sums of its parts. A part's squares are about its own mean m, and
/// Σ(x − μ)² = Σ(x − m)² + columns·(m − μ)²: no large numbers are subtracted that are nearly equal.
template <class T>
Moments<T> moments_of_parts(const LayerNormApply& op, const T* sums) {
  const auto columns = [&](int64_t part) {
    return static_cast<T>(op.column_group * shard_range(op.norm.hidden / op.column_group,
                                                        static_cast<int>(op.ranks), static_cast<int>(part))
                                                .size());
  };
  const T hidden = static_cast<T>(op.norm.hidden);
  T sum = 0, squares = 0;
  for (int64_t part = 0; part < op.ranks; ++part) sum += sums[2 * part];
  const T mean = sum / hidden;
  for (int64_t part = 0; part < op.ranks; ++part) {
    const T count = columns(part);
    if (count == 0) continue;
    const T apart = sums[2 * part] / count - mean;
    squares += sums[2 * part + 1] + count * apart * apart;
  }
  return {mean, T(1) / std::sqrt(squares / hidden + static_cast<T>(op.epsilon))};
}

/// Σg and Σg·hat over a row's columns.
template <class T>
struct GradSums {
  T g, g_hat;
};

/// A row of `cols` columns, with g = gamma·dy and hat = (x − mean)·inverse. It adds to dgamma and dbeta,
/// computes Σg and Σg·hat, and writes dx = inverse·(g − mean(g) − hat·mean(g·hat)), with means over the whole
/// row.
template <class S, class T = Computed<S>>
struct GradRow {
  int64_t cols;
  const S *x, *gamma, *dy;
  Moments<T> moments;

  /// Returns the row's sums. Also adds dgamma += dy·hat and dbeta += dy. Inlined, because a call would read
  /// this row's members again after each store: a quarter more instructions.
  [[gnu::always_inline]] GradSums<T> add_to(T* dgamma, T* dbeta) const {
    constexpr int kSums = 2;  // of each, side by side: see sum_row
    constexpr std::integral_constant<int64_t, kLanes<T>> kWhole;
    Vector<T> g[kSums] = {}, g_hat[kSums] = {};
    const auto add = [&](int64_t i, auto n, Vector<T>& sum, Vector<T>& hat_sum)
        __attribute__((always_inline)) {
      const Vector<T> d = load_ahead(dy + i, n, T(0)), h = hat(load_ahead(x + i, n, moments.mean));
      store_part<T>(dgamma + i, load_part(dgamma + i, n, T(0)) + d * h, n);
      store_part<T>(dbeta + i, load_part(dbeta + i, n, T(0)) + d, n);
      const Vector<T> scaled = d * load_part(gamma + i, n, T(0));
      sum += scaled;
      hat_sum += scaled * h;
    };
    int64_t i = 0;
    for (; i + kSums * kWhole <= cols; i += kSums * kWhole)
      for (int s = 0; s < kSums; ++s) add(i + s * kWhole, kWhole, g[s], g_hat[s]);
    for (; i + kWhole <= cols; i += kWhole) add(i, kWhole, g[0], g_hat[0]);
    if (i < cols) add(i, cols - i, g[0], g_hat[0]);
    return {sum_lanes<T>(g[0] + g[1]), sum_lanes<T>(g_hat[0] + g_hat[1])};
  }
  /// Writes dx, plus the row `addend` unless that is null.
  void write(T mean_g, T mean_gh, S* dx, const S* addend = nullptr) const {
    for_vectors<T>(cols, [&](int64_t i, auto n) {
      const Vector<T> g = load_part(dy + i, n, T(0)) * load_part(gamma + i, n, T(0));
      const Vector<T> own = (g - mean_g - hat(load_part(x + i, n, moments.mean)) * mean_gh) * moments.inverse;
      if (addend == nullptr)
        store_part(dx + i, own, n);
      else
        store_part(dx + i, as_stored<S>(own) + load_ahead(addend + i, n, T(0)), n);
    });
  }

 private:
  Vector<T> hat(Vector<T> value) const { return (value - moments.mean) * moments.inverse; }
};

/// Calls work(row) for every row. A thread takes a group of rows at a time.
template <class Work>
void for_rows(int threads, int64_t rows, const Work& work) {
  parallel_for(threads, (rows + kRowGroup - 1) / kRowGroup, [&](int64_t group) {
    for (int64_t row = group * kRowGroup; row < std::min(rows, (group + 1) * kRowGroup); ++row) work(row);
  });
}

/// Computes dgamma and dbeta over all rows. Calls work(index, GradRow, its sums) for every row; the call may
/// overwrite the row's dy.
template <class S, class Row, class Work, class T = Computed<S>>
void grad_rows(int threads, int64_t rows, int64_t cols, void* dgamma, void* dbeta, bool accumulate,
               const Row& row_at, const Work& work) {
  sum_rows<T, 2>(threads, rows, cols, {static_cast<T*>(dgamma), static_cast<T*>(dbeta)}, accumulate,
                 [&](int64_t index, T* own) {
                   const GradRow<S> row = row_at(index);
                   work(index, row, row.add_to(own, own + cols));
                 });
}

}  // namespace

void CpuDevice::layer_norm(const LayerNorm& op) {
  with_element_type(op.dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    for_rows(threads_, op.rows, [&](int64_t row) {
      const int64_t first = row * op.cols;
      const S* in = static_cast<const S*>(op.x) + first;
      if (op.a != nullptr) {
        S* sum = static_cast<S*>(op.sum) + first;
        add_to_residual<S>(op.cols, in, static_cast<const S*>(op.a) + first, static_cast<const S*>(op.bias),
                           sum);
        in = sum;
      }
      normalize_row<S>(op.cols, static_cast<T>(op.epsilon), in, static_cast<const S*>(op.gamma),
                       static_cast<const S*>(op.beta), static_cast<S*>(op.y) + first,
                       static_cast<T*>(op.stats) + 2 * row);
    });
  });
}

void CpuDevice::layer_norm_grad(const LayerNormGrad& op) {
  with_element_type(op.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const auto row_at = [&](int64_t row) {
      return GradRow<S>{op.cols, static_cast<const S*>(op.x) + row * op.cols, static_cast<const S*>(op.gamma),
                        static_cast<const S*>(op.dy) + row * op.cols,
                        stored_moments(op.cols, static_cast<const T*>(op.stats), row)};
    };
    grad_rows<S>(threads_, op.rows, op.cols, op.dgamma, op.dbeta, op.accumulate, row_at,
                 [&](int64_t index, const GradRow<S>& row, GradSums<T> sums) {
                   const T count = static_cast<T>(op.cols);
                   const int64_t first = index * op.cols;
                   row.write(sums.g / count, sums.g_hat / count, static_cast<S*>(op.dx) + first,
                             op.addend == nullptr ? nullptr : static_cast<const S*>(op.addend) + first);
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
      const RowSums<T> own = sums_of_row(norm.cols, in);
      out[0] = own.sum;
      out[1] = own.squares;
    });
  });
}

void CpuDevice::layer_norm_apply(const LayerNormApply& op) {
  const CutNorm& norm = op.norm;
  with_element_type(norm.dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const S *gains = static_cast<const S*>(op.gamma), *shifts = static_cast<const S*>(op.beta);
    for_rows(threads_, norm.rows, [&](int64_t row) {
      const auto [mean, inverse] = moments_of_parts(op, static_cast<const T*>(op.sums) + 2 * op.ranks * row);
      static_cast<T*>(op.stats)[2 * row] = mean;
      static_cast<T*>(op.stats)[2 * row + 1] = inverse;
      const S* in = static_cast<const S*>(op.x) + row * norm.cols;
      S* out = static_cast<S*>(op.y) + row * norm.cols;
      for_vectors<T>(norm.cols, [&](int64_t i, auto n) {
        const Vector<T> hat = (load_ahead(in + i, n, mean) - mean) * inverse;
        store_part(out + i, hat * load_part(gains + i, n, T(0)) + load_part(shifts + i, n, T(0)), n);
      });
    });
  });
}

void CpuDevice::layer_norm_grad_sums(const LayerNormGradSums& op) {
  const CutNorm& norm = op.norm;
  with_element_type(norm.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const auto row_at = [&](int64_t row) {
      return GradRow<S>{norm.cols, static_cast<const S*>(op.x) + row * norm.cols,
                        static_cast<const S*>(op.gamma), static_cast<const S*>(op.dy) + row * norm.cols,
                        stored_moments(norm.hidden, static_cast<const T*>(op.stats), row)};
    };
    grad_rows<S>(threads_, norm.rows, norm.cols, op.dgamma, op.dbeta, op.accumulate, row_at,
                 [&](int64_t index, const GradRow<S>&, GradSums<T> own) {
                   static_cast<T*>(op.dsums)[2 * index] = own.g;
                   static_cast<T*>(op.dsums)[2 * index + 1] = own.g_hat;
                 });
  });
}

void CpuDevice::layer_norm_grad_apply(const LayerNormGradApply& op) {
  const CutNorm& norm = op.norm;
  with_element_type(norm.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    for_rows(threads_, norm.rows, [&](int64_t row) {
      const GradRow<S> one{norm.cols, static_cast<const S*>(op.x) + row * norm.cols,
                           static_cast<const S*>(op.gamma), static_cast<const S*>(op.dy) + row * norm.cols,
                           stored_moments(norm.hidden, static_cast<const T*>(op.stats), row)};
      const T* whole = static_cast<const T*>(op.dsums) + 2 * row;
      const T count = static_cast<T>(norm.hidden);
      one.write(whole[0] / count, whole[1] / count, static_cast<S*>(op.dx) + row * norm.cols);
    });
  });
}

}  // namespace shardlens::cpu
