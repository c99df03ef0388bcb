// LayerNorm, one block a row; a row is read again from cache for every pass over it. Mean and variance of a
// whole row take two passes, so that a large mean cannot swallow a small variance. Of a row that is spread
// over ranks they come from Σx and Σx² (CutNorm). dgamma and dbeta are sums over rows by columns.
#include "engine/device/cuda/column_sums.cuh"
#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

namespace {

/// A row's mean and 1/sqrt(var + epsilon).
template <class T>
struct Moments {
  T mean, inverse;
};

/// Where rows' moments come from: stored as they are, or the sums over a row's `hidden` columns.
template <class T>
struct RowMoments {
  const T* numbers;  // [rows, 2]
  bool summed = false;
  T hidden = 0, epsilon = 0;

  __device__ Moments<T> operator()(int64_t row) const {
    const T first = numbers[2 * row], second = numbers[2 * row + 1];
    if (!summed) return {first, second};
    const T mean = first / hidden, spread = second / hidden - mean * mean;
    const T variance = spread < T(0) ? T(0) : spread;  // a NaN stays
    return {mean, T(1) / std::sqrt(variance + epsilon)};
  }
};

template <class T>
RowMoments<T> summed_moments(const CutNorm& norm, const void* sums) {
  return {static_cast<const T*>(sums), true, static_cast<T>(norm.hidden), static_cast<T>(norm.epsilon)};
}

/// The packs of a row that are a thread's: every kRowThreads-th. Calls body(column, elements left).
template <class S, class Body>
__device__ __forceinline__ void for_packs(int64_t cols, Body&& body) {
  for (int64_t col = int64_t{threadIdx.x} * kLanes<S>; col < cols; col += int64_t{kRowThreads} * kLanes<S>)
    body(col, cols - col);
}

template <class S, class T = Computed<S>>
__device__ __forceinline__ void write_row(int64_t cols, const S* x, const S* gamma, const S* beta,
                                          Moments<T> moments, bool aligned, S* y) {
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    T value[kLanes<S>], gain[kLanes<S>], shift[kLanes<S>];
    load_pack(x + col, count, aligned, moments.mean, value);
    load_pack(gamma + col, count, aligned, T(0), gain);
    load_pack(beta + col, count, aligned, T(0), shift);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i)
      value[i] = (value[i] - moments.mean) * moments.inverse * gain[i] + shift[i];
    store_pack(y + col, count, aligned, value);
  });
}

/// sum = x + (a + bias) of the packs of a row that are this thread's, which reads them again afterwards.
template <class S>
__device__ __forceinline__ void sum_row_before(int64_t cols, const S* x, const S* a, const S* bias,
                                               bool aligned, S* sum) {
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    Computed<S> value[kLanes<S>], other[kLanes<S>];
    load_pack(a + col, count, aligned, Computed<S>(0), value);
    if (bias != nullptr) {
      load_pack(bias + col, count, aligned, Computed<S>(0), other);
#pragma unroll
      for (int i = 0; i < kLanes<S>; ++i) value[i] = as_stored<S>(value[i] + other[i]);
    }
    load_pack(x + col, count, aligned, Computed<S>(0), other);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) value[i] = other[i] + value[i];
    store_pack(sum + col, count, aligned, value);
  });
}

/// SumBefore, typed; `sum` is null where x itself is normalised.
template <class S>
struct RowSum {
  const S *a, *bias;
  S* sum;
};

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    layer_norm_kernel(int64_t cols, Computed<S> epsilon, const S* x, RowSum<S> before, const S* gamma,
                      const S* beta, S* y, Computed<S>* stats, bool aligned) {
  using T = Computed<S>;
  __shared__ T shared[kRowThreads / 32];
  const int64_t row = blockIdx.x;
  const S* in = x + row * cols;
  if (before.sum != nullptr) {
    S* const whole = before.sum + row * cols;
    sum_row_before<S>(cols, in, before.a + row * cols, before.bias, aligned, whole);
    in = whole;
  }
  T sum = 0;
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    T value[kLanes<S>];
    load_pack(in + col, count, aligned, T(0), value);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) sum += value[i];
  });
  const T mean = block_sum(sum, shared) / static_cast<T>(cols);
  T squares = 0;
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    T value[kLanes<S>];
    load_pack(in + col, count, aligned, mean, value);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) squares += (value[i] - mean) * (value[i] - mean);
  });
  const T variance = block_sum(squares, shared) / static_cast<T>(cols);
  const Moments<T> moments{mean, T(1) / std::sqrt(variance + epsilon)};
  write_row<S>(cols, in, gamma, beta, moments, aligned, y + row * cols);
  if (threadIdx.x == 0) {
    stats[2 * row] = moments.mean;
    stats[2 * row + 1] = moments.inverse;
  }
}

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    norm_sums_kernel(int64_t cols, const S* x, Computed<S>* sums, bool aligned) {
  using T = Computed<S>;
  __shared__ T shared[kRowThreads / 32];
  const int64_t row = blockIdx.x;
  T sum = 0, squares = 0;
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    T value[kLanes<S>];
    load_pack(x + row * cols + col, count, aligned, T(0), value);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) {
      sum += value[i];
      squares += value[i] * value[i];
    }
  });
  sum = block_sum(sum, shared);
  squares = block_sum(squares, shared);
  if (threadIdx.x == 0) {
    sums[2 * row] = sum;
    sums[2 * row + 1] = squares;
  }
}

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    norm_apply_kernel(int64_t cols, const S* x, const S* gamma, const S* beta,
                      RowMoments<Computed<S>> moments, S* y, bool aligned) {
  const int64_t row = blockIdx.x;
  write_row<S>(cols, x + row * cols, gamma, beta, moments(row), aligned, y + row * cols);
}

/// g = gamma·dy and hat = (x − mean)·inverse of one pack of a row.
template <class S, class T = Computed<S>>
struct GradPack {
  T g[kLanes<S>], hat[kLanes<S>];

  __device__ GradPack(const S* x, const S* gamma, const S* dy, int64_t col, int64_t count, Moments<T> moments,
                      bool aligned) {
    T gain[kLanes<S>];
    load_pack(x + col, count, aligned, moments.mean, hat);
    load_pack(gamma + col, count, aligned, T(0), gain);
    load_pack(dy + col, count, aligned, T(0), g);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) {
      g[i] *= gain[i];
      hat[i] = (hat[i] - moments.mean) * moments.inverse;
    }
  }
};

/// Σg and Σg·hat of a row, in all threads.
template <class S, class T = Computed<S>>
__device__ __forceinline__ void grad_row_sums(int64_t cols, const S* x, const S* gamma, const S* dy,
                                              Moments<T> moments, bool aligned, T* shared, T& sum_g,
                                              T& sum_gh) {
  T g_sum = 0, gh_sum = 0;
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    const GradPack<S> pack(x, gamma, dy, col, count, moments, aligned);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) {
      g_sum += pack.g[i];
      gh_sum += pack.g[i] * pack.hat[i];
    }
  });
  sum_g = block_sum(g_sum, shared);
  sum_gh = block_sum(gh_sum, shared);
}

/// dx = inverse·(g − mean(g) − hat·mean(g·hat)), plus `addend` unless that is null. dx may be dy: a thread
/// has read what it overwrites.
template <class S, class T = Computed<S>>
__device__ __forceinline__ void write_grad_row(int64_t cols, const S* x, const S* gamma, const S* dy,
                                               Moments<T> moments, bool aligned, T mean_g, T mean_gh, S* dx,
                                               const S* addend = nullptr) {
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    const GradPack<S> pack(x, gamma, dy, col, count, moments, aligned);
    T value[kLanes<S>];
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i)
      value[i] = (pack.g[i] - mean_g - pack.hat[i] * mean_gh) * moments.inverse;
    if (addend != nullptr) {
      T other[kLanes<S>];
      load_pack(addend + col, count, aligned, T(0), other);
#pragma unroll
      for (int i = 0; i < kLanes<S>; ++i) value[i] = as_stored<S>(value[i]) + other[i];
    }
    store_pack(dx + col, count, aligned, value);
  });
}

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    layer_norm_grad_kernel(int64_t cols, const S* x, const S* gamma, RowMoments<Computed<S>> moments,
                           const S* dy, const S* addend, S* dx, bool aligned) {
  using T = Computed<S>;
  __shared__ T shared[kRowThreads / 32];
  const int64_t row = blockIdx.x;
  const Moments<T> own = moments(row);
  const S *in = x + row * cols, *grad = dy + row * cols;
  T sum_g, sum_gh;
  grad_row_sums<S>(cols, in, gamma, grad, own, aligned, shared, sum_g, sum_gh);
  const T count = static_cast<T>(cols);
  write_grad_row<S>(cols, in, gamma, grad, own, aligned, sum_g / count, sum_gh / count, dx + row * cols,
                    addend == nullptr ? nullptr : addend + row * cols);
}

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    norm_grad_sums_kernel(int64_t cols, const S* x, const S* gamma, RowMoments<Computed<S>> moments,
                          const S* dy, Computed<S>* dsums, bool aligned) {
  using T = Computed<S>;
  __shared__ T shared[kRowThreads / 32];
  const int64_t row = blockIdx.x;
  T sum_g, sum_gh;
  grad_row_sums<S>(cols, x + row * cols, gamma, dy + row * cols, moments(row), aligned, shared, sum_g,
                   sum_gh);
  if (threadIdx.x == 0) {
    dsums[2 * row] = sum_g;
    dsums[2 * row + 1] = sum_gh;
  }
}

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    norm_grad_apply_kernel(int64_t cols, Computed<S> hidden, const S* x, const S* gamma,
                           RowMoments<Computed<S>> moments, const S* dy, const Computed<S>* dsums, S* dx,
                           bool aligned) {
  const int64_t row = blockIdx.x;
  write_grad_row<S>(cols, x + row * cols, gamma, dy + row * cols, moments(row), aligned,
                    dsums[2 * row] / hidden, dsums[2 * row + 1] / hidden, dx + row * cols);
}

/// dy·hat and dy: the terms of dgamma and dbeta.
template <class S>
struct GainTerms {
  const S *x, *dy;
  RowMoments<Computed<S>> moments;
  int64_t cols;
  bool aligned;

  __device__ void operator()(int64_t row, int64_t col, int64_t count,
                             Computed<S> (&terms)[2][kLanes<S>]) const {
    const Moments<Computed<S>> own = moments(row);
    load_pack(x + row * cols + col, count, aligned, own.mean, terms[0]);
    load_pack(dy + row * cols + col, count, aligned, Computed<S>(0), terms[1]);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) terms[0][i] = terms[1][i] * ((terms[0][i] - own.mean) * own.inverse);
  }
};

template <class S>
void gain_sums(const Operation& operation, int64_t rows, int64_t cols, const void* x,
               const RowMoments<Computed<S>>& moments, const void* dy, void* dgamma, void* dbeta,
               bool accumulate) {
  const GainTerms<S> terms{static_cast<const S*>(x), static_cast<const S*>(dy), moments, cols,
                           rows_aligned<S>(cols, x, dy)};
  column_sums<S, 2>(operation, rows, cols, terms,
                    {{static_cast<Computed<S>*>(dgamma), static_cast<Computed<S>*>(dbeta)}}, accumulate);
}

}  // namespace

void CudaDevice::layer_norm(DType dtype, int64_t rows, int64_t cols, double epsilon, const void* x,
                            const void* gamma, const void* beta, void* y, void* stats, const SumBefore& sum) {
  with_element_type(dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const RowSum<S> before{static_cast<const S*>(sum.a), static_cast<const S*>(sum.bias),
                           sum.a == nullptr ? nullptr : static_cast<S*>(sum.sum)};
    // What is not there is at address 0, which is aligned.
    Operation(*this, "LayerNorm")
        .launch(layer_norm_kernel<S>, rows, kRowThreads, 0, cols, static_cast<T>(epsilon),
                static_cast<const S*>(x), before, static_cast<const S*>(gamma), static_cast<const S*>(beta),
                static_cast<S*>(y), static_cast<T*>(stats),
                rows_aligned<S>(cols, x, gamma, beta, y, sum.a, sum.bias, sum.sum));
  });
}

void CudaDevice::layer_norm_grad(DType dtype, int64_t rows, int64_t cols, const void* x, const void* gamma,
                                 const void* stats, const void* dy, void* dx, void* dgamma, void* dbeta,
                                 bool accumulate, const void* addend) {
  with_element_type(dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const Operation operation(*this, "the gradient of LayerNorm");
    const RowMoments<T> moments{static_cast<const T*>(stats)};
    // Columns first: dx may be dy.
    gain_sums<S>(operation, rows, cols, x, moments, dy, dgamma, dbeta, accumulate);
    operation.launch(layer_norm_grad_kernel<S>, rows, kRowThreads, 0, cols, static_cast<const S*>(x),
                     static_cast<const S*>(gamma), moments, static_cast<const S*>(dy),
                     static_cast<const S*>(addend), static_cast<S*>(dx),
                     rows_aligned<S>(cols, x, gamma, dy, dx, addend));
  });
}

void CudaDevice::layer_norm_sums(const CutNorm& norm, const void* x, void* sums) {
  with_element_type(norm.dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    Operation(*this, "LayerNorm's sums")
        .launch(norm_sums_kernel<S>, norm.rows, kRowThreads, 0, norm.cols, static_cast<const S*>(x),
                static_cast<Computed<S>*>(sums), rows_aligned<S>(norm.cols, x));
  });
}

void CudaDevice::layer_norm_apply(const CutNorm& norm, const void* x, const void* gamma, const void* beta,
                                  const void* sums, void* y) {
  with_element_type(norm.dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    Operation(*this, "LayerNorm from its sums")
        .launch(norm_apply_kernel<S>, norm.rows, kRowThreads, 0, norm.cols, static_cast<const S*>(x),
                static_cast<const S*>(gamma), static_cast<const S*>(beta),
                summed_moments<Computed<S>>(norm, sums), static_cast<S*>(y),
                rows_aligned<S>(norm.cols, x, gamma, beta, y));
  });
}

void CudaDevice::layer_norm_grad_sums(const CutNorm& norm, const void* x, const void* gamma, const void* sums,
                                      const void* dy, void* dsums, void* dgamma, void* dbeta,
                                      bool accumulate) {
  with_element_type(norm.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const Operation operation(*this, "the sums of LayerNorm's gradient");
    const RowMoments<T> moments = summed_moments<T>(norm, sums);
    gain_sums<S>(operation, norm.rows, norm.cols, x, moments, dy, dgamma, dbeta, accumulate);
    operation.launch(norm_grad_sums_kernel<S>, norm.rows, kRowThreads, 0, norm.cols, static_cast<const S*>(x),
                     static_cast<const S*>(gamma), moments, static_cast<const S*>(dy), static_cast<T*>(dsums),
                     rows_aligned<S>(norm.cols, x, gamma, dy));
  });
}

void CudaDevice::layer_norm_grad_apply(const CutNorm& norm, const void* x, const void* gamma,
                                       const void* sums, const void* dy, const void* dsums, void* dx) {
  with_element_type(norm.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    Operation(*this, "LayerNorm's gradient from its sums")
        .launch(norm_grad_apply_kernel<S>, norm.rows, kRowThreads, 0, norm.cols, static_cast<T>(norm.hidden),
                static_cast<const S*>(x), static_cast<const S*>(gamma), summed_moments<T>(norm, sums),
                static_cast<const S*>(dy), static_cast<const T*>(dsums), static_cast<S*>(dx),
                rows_aligned<S>(norm.cols, x, gamma, dy, dx));
  });
}

}  // namespace shardlens::cuda
