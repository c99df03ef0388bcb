// LayerNorm, with one block for each row. A row's packs stay in registers if they fit; otherwise every pass
// reads them again from cache. Mean and variance take two passes, so that a small variance is not lost
// against a large mean. For a row that is cut across the ranks, each rank does so with its own columns, and
// all ranks' sums give the moments of the whole row (CutNorm). dgamma and dbeta are sums over the rows,
// column by column.
#include "engine/device/cuda/layer_norm.cuh"

#include "engine/device/cuda/column_sums.cuh"

namespace shardlens::cuda {

namespace {

/// Gives the moments of rows as the forward pass stored them.
template <class T>
struct StoredMoments {
  const T* stats;  // [rows, 2]

  __device__ Moments<T> operator()(int64_t row) const { return {stats[2 * row], stats[2 * row + 1]}; }
};

/// Computes the moments of whole rows from the sums of their parts. A part's squares are about its own mean
/// m, and Σ(x − μ)² = Σ(x − m)² + columns·(m − μ)²: no large numbers are subtracted that are nearly equal.
template <class T>
struct MomentsOfParts {
  const T* sums;                  // [rows, parts, 2]
  int64_t parts, fewest, longer;  // every part has the fewest columns; the first `longer` have a group more
  int64_t column_group;
  T hidden, epsilon;

  explicit MomentsOfParts(const LayerNormApply& op)
      : sums(static_cast<const T*>(op.sums)),
        parts(op.ranks),
        fewest(op.norm.hidden / op.column_group / op.ranks * op.column_group),
        longer(op.norm.hidden / op.column_group % op.ranks),
        column_group(op.column_group),
        hidden(static_cast<T>(op.norm.hidden)),
        epsilon(static_cast<T>(op.epsilon)) {}

  __device__ Moments<T> operator()(int64_t row) const {
    const T* const of_row = sums + 2 * parts * row;
    T sum = 0, squares = 0;
    for (int64_t part = 0; part < parts; ++part) sum += of_row[2 * part];
    const T mean = sum / hidden;
    for (int64_t part = 0; part < parts; ++part) {
      const T count = static_cast<T>(fewest + (part < longer ? column_group : 0));
      if (count == T(0)) continue;
      const T apart = of_row[2 * part] / count - mean;
      squares += of_row[2 * part + 1] + count * apart * apart;
    }
    return {mean, T(1) / std::sqrt(squares / hidden + epsilon)};
  }
};

/// Calls body(column, elements left) for a thread's packs of a row: every kRowThreads-th.
template <class S, class Body>
__device__ __forceinline__ void for_packs(int64_t cols, Body&& body) {
  for (int64_t col = int64_t{threadIdx.x} * kLanes<S>; col < cols; col += int64_t{kRowThreads} * kLanes<S>)
    body(col, cols - col);
}

/// A thread's packs of a row, for several passes over them. With kKept > 0 there are at most kKept packs, all
/// aligned and whole, and keep() loads all of them once, at the same time. With kKept = 0 each pass loads
/// them again.
template <class S, int kKept, class Pack>
class RowPacks {
 public:
  explicit __device__ RowPacks(int64_t cols) : cols_(cols) {}

  /// Loads and keeps the packs. load(column, elements left) returns a pack.
  template <class Load>
  __device__ __forceinline__ void keep(Load&& load) {
#pragma unroll
    for (int k = 0; k < kKept; ++k)  // loads pack 0 if there are fewer, so that no load waits for a branch
      kept_[k] = load(column(k) < cols_ ? column(k) : 0, int64_t{kLanes<S>});
  }

  /// Calls body(column, elements left, pack).
  template <class Load, class Body>
  __device__ __forceinline__ void each(Load&& load, Body&& body) const {
    if constexpr (kKept == 0) {
      for_packs<S>(cols_, [&](int64_t col, int64_t count) { body(col, count, load(col, count)); });
    } else {
#pragma unroll
      for (int k = 0; k < kKept; ++k)
        if (column(k) < cols_) body(column(k), int64_t{kLanes<S>}, kept_[k]);
    }
  }

 private:
  static __device__ __forceinline__ int64_t column(int k) {
    return (int64_t{threadIdx.x} + k * kRowThreads) * kLanes<S>;
  }

  int64_t cols_;
  Pack kept_[kKept > 0 ? kKept : 1];
};

/// Calls launch(std::integral_constant<int, kKept>) with the packs of each thread that hold a row of `cols`,
/// or with 0 if rows are too wide or not aligned.
template <class S, class Launch>
void with_kept_packs(int64_t cols, bool aligned, Launch&& launch) {
  const int64_t packs = aligned ? pieces(cols, int64_t{kRowThreads} * kLanes<S>) : 0;
  if (packs == 1) return launch(std::integral_constant<int, 1>{});
  if (packs == 2) return launch(std::integral_constant<int, 2>{});
  if (packs == 3 || packs == 4) return launch(std::integral_constant<int, 4>{});
  launch(std::integral_constant<int, 0>{});
}

/// If there is a sum before the norm, it is written first. Kept packs stay in registers; otherwise the sum is
/// read again.
template <class S, int kKept>
__global__ void __launch_bounds__(kRowThreads)
    layer_norm_kernel(int64_t cols, Computed<S> epsilon, const S* x, RowSum<S> before, const S* gamma,
                      const S* beta, S* y, Computed<S>* stats, bool aligned) {
  using T = Computed<S>;
  constexpr bool kWhole = kKept > 0;
  __shared__ T shared[kRowThreads / 32];
  const int64_t row = blockIdx.x;
  const S* in = x + row * cols;
  RowPacks<S, kKept, Values<S>> packs(cols);
  T fill = 0;
  const auto load = [&](int64_t col, int64_t count) {
    Values<S> pack;
    load_pack<kWhole>(in + col, count, aligned, fill, pack.lane);
    return pack;
  };
  if (before.sum != nullptr) {
    S* const sum = before.sum + row * cols;
    const auto load_sum = [&](int64_t col, int64_t count) {
      return summed_pack<kWhole>(col, count, in, before.a + row * cols, before.bias, aligned);
    };
    packs.keep(load_sum);
    packs.each(load_sum, [&](int64_t col, int64_t count, const Values<S>& pack) {
      store_pack<kWhole>(sum + col, count, aligned, pack.lane);
    });
    in = sum;
  } else {
    packs.keep(load);
  }
  T sum = 0;
  packs.each(load, [&](int64_t, int64_t, const Values<S>& pack) {
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) sum += pack.lane[i];
  });
  const T mean = block_sum(sum, shared) / static_cast<T>(cols);
  fill = mean;
  T squares = 0;
  packs.each(load, [&](int64_t, int64_t, const Values<S>& pack) {
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) squares += (pack.lane[i] - mean) * (pack.lane[i] - mean);
  });
  const T variance = block_sum(squares, shared) / static_cast<T>(cols);
  const Moments<T> moments{mean, T(1) / std::sqrt(variance + epsilon)};
  packs.each(load, [&](int64_t col, int64_t count, const Values<S>& pack) {
    const Values<S> result = normed_pack<kWhole>(col, count, pack, gamma, beta, moments, aligned);
    store_pack<kWhole>(y + row * cols + col, count, aligned, result.lane);
  });
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
    for (int i = 0; i < kLanes<S>; ++i) sum += value[i];
  });
  sum = block_sum(sum, shared);
  const T mean = sum / static_cast<T>(cols);
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    T value[kLanes<S>];
    load_pack(x + row * cols + col, count, aligned, mean, value);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) squares += (value[i] - mean) * (value[i] - mean);
  });
  squares = block_sum(squares, shared);
  if (threadIdx.x == 0) {
    sums[2 * row] = sum;
    sums[2 * row + 1] = squares;
  }
}

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    norm_apply_kernel(int64_t cols, const S* x, const S* gamma, const S* beta,
                      MomentsOfParts<Computed<S>> moments, S* y, Computed<S>* stats, bool aligned) {
  const int64_t row = blockIdx.x;
  const Moments<Computed<S>> own = moments(row);
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    Values<S> pack;
    load_pack(x + row * cols + col, count, aligned, own.mean, pack.lane);
    const Values<S> result = normed_pack<false>(col, count, pack, gamma, beta, own, aligned);
    store_pack(y + row * cols + col, count, aligned, result.lane);
  });
  if (threadIdx.x == 0) {
    stats[2 * row] = own.mean;
    stats[2 * row + 1] = own.inverse;
  }
}

/// g = gamma·dy and hat = (x − mean)·inverse of one pack of a row.
template <class S, class T = Computed<S>>
struct GradPack {
  T g[kLanes<S>], hat[kLanes<S>];
};

template <bool kWhole, class S, class T = Computed<S>>
__device__ __forceinline__ GradPack<S> grad_pack(int64_t col, int64_t count, const S* x, const S* gamma,
                                                 const S* dy, Moments<T> moments, bool aligned) {
  GradPack<S> pack;
  T gain[kLanes<S>];
  load_pack<kWhole>(x + col, count, aligned, moments.mean, pack.hat);
  load_pack<kWhole>(gamma + col, count, aligned, T(0), gain);
  load_pack<kWhole>(dy + col, count, aligned, T(0), pack.g);
#pragma unroll
  for (int i = 0; i < kLanes<S>; ++i) {
    pack.g[i] *= gain[i];
    pack.hat[i] = (pack.hat[i] - moments.mean) * moments.inverse;
  }
  return pack;
}

/// Σg and Σg·hat of a row.
template <class T>
struct GradSums {
  T g = 0, gh = 0;

  template <class S>
  __device__ __forceinline__ void add(const GradPack<S>& pack) {
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) {
      g += pack.g[i];
      gh += pack.g[i] * pack.hat[i];
    }
  }
  /// Adds up the sums of the block's threads. All threads get the result.
  __device__ __forceinline__ void meet(T* shared) {
    g = block_sum(g, shared);
    gh = block_sum(gh, shared);
  }
};

/// dx = inverse·(g − mean(g) − hat·mean(g·hat)) of one pack, plus `addend` unless that is null. dx may be dy,
/// because a thread has read the elements that it overwrites. A whole row of one column, whose `hidden` is 1,
/// is its shift whatever x is, so its dx is exactly 0.
template <bool kWhole, class S, class T = Computed<S>>
__device__ __forceinline__ void write_grad_pack(int64_t col, int64_t count, const GradPack<S>& pack,
                                                Moments<T> moments, bool aligned, T hidden, T mean_g,
                                                T mean_gh, const S* addend, S* dx) {
  const T inverse = hidden == T(1) ? T(0) : moments.inverse;
  T value[kLanes<S>];
#pragma unroll
  for (int i = 0; i < kLanes<S>; ++i) value[i] = (pack.g[i] - mean_g - pack.hat[i] * mean_gh) * inverse;
  if (addend != nullptr) {
    T other[kLanes<S>];
    load_pack<kWhole>(addend + col, count, aligned, T(0), other);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) value[i] = as_stored<S>(value[i]) + other[i];
  }
  store_pack<kWhole>(dx + col, count, aligned, value);
}

template <class S, int kKept>
__global__ void __launch_bounds__(kRowThreads)
    layer_norm_grad_kernel(int64_t cols, const S* x, const S* gamma, StoredMoments<Computed<S>> moments,
                           const S* dy, const S* addend, S* dx, bool aligned) {
  using T = Computed<S>;
  constexpr bool kWhole = kKept > 0;
  __shared__ T shared[kRowThreads / 32];
  const int64_t row = blockIdx.x;
  const Moments<T> own = moments(row);
  RowPacks<S, kKept, GradPack<S>> packs(cols);
  const auto load = [&](int64_t col, int64_t count) {
    return grad_pack<kWhole>(col, count, x + row * cols, gamma, dy + row * cols, own, aligned);
  };
  packs.keep(load);
  GradSums<T> sums;
  packs.each(load, [&](int64_t, int64_t, const GradPack<S>& pack) { sums.add(pack); });
  sums.meet(shared);
  const T hidden = static_cast<T>(cols), mean_g = sums.g / hidden, mean_gh = sums.gh / hidden;
  const S* const own_addend = addend == nullptr ? nullptr : addend + row * cols;
  packs.each(load, [&](int64_t col, int64_t count, const GradPack<S>& pack) {
    write_grad_pack<kWhole>(col, count, pack, own, aligned, hidden, mean_g, mean_gh, own_addend,
                            dx + row * cols);
  });
}

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    norm_grad_sums_kernel(int64_t cols, const S* x, const S* gamma, StoredMoments<Computed<S>> moments,
                          const S* dy, Computed<S>* dsums, bool aligned) {
  using T = Computed<S>;
  __shared__ T shared[kRowThreads / 32];
  const int64_t row = blockIdx.x;
  const Moments<T> own = moments(row);
  GradSums<T> sums;
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    sums.add(grad_pack<false>(col, count, x + row * cols, gamma, dy + row * cols, own, aligned));
  });
  sums.meet(shared);
  if (threadIdx.x == 0) {
    dsums[2 * row] = sums.g;
    dsums[2 * row + 1] = sums.gh;
  }
}

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    norm_grad_apply_kernel(int64_t cols, Computed<S> hidden, const S* x, const S* gamma,
                           StoredMoments<Computed<S>> moments, const S* dy, const Computed<S>* dsums, S* dx,
                           bool aligned) {
  const int64_t row = blockIdx.x;
  const Moments<Computed<S>> own = moments(row);
  const Computed<S> mean_g = dsums[2 * row] / hidden, mean_gh = dsums[2 * row + 1] / hidden;
  for_packs<S>(cols, [&](int64_t col, int64_t count) {
    const GradPack<S> pack =
        grad_pack<false>(col, count, x + row * cols, gamma, dy + row * cols, own, aligned);
    write_grad_pack<false, S>(col, count, pack, own, aligned, hidden, mean_g, mean_gh, nullptr,
                              dx + row * cols);
  });
}

/// dy·hat and dy: the terms of dgamma and dbeta.
template <class S>
struct GainTerms {
  const S *x, *dy;
  StoredMoments<Computed<S>> moments;
  int64_t cols;
  bool aligned;

  template <bool kWhole>
  __device__ void get(int64_t row, int64_t col, int64_t count, Computed<S> (&terms)[2][kLanes<S>]) const {
    const Moments<Computed<S>> own = moments(row);
    load_pack<kWhole>(x + row * cols + col, count, aligned, own.mean, terms[0]);
    load_pack<kWhole>(dy + row * cols + col, count, aligned, Computed<S>(0), terms[1]);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) terms[0][i] = terms[1][i] * ((terms[0][i] - own.mean) * own.inverse);
  }
};

template <class S>
void gain_sums(const Operation& operation, int64_t rows, int64_t cols, const void* x,
               const StoredMoments<Computed<S>>& moments, const void* dy, void* dgamma, void* dbeta,
               bool accumulate) {
  const GainTerms<S> terms{static_cast<const S*>(x), static_cast<const S*>(dy), moments, cols,
                           rows_aligned<S>(cols, x, dy)};
  column_sums<S, 2>(operation, rows, cols, terms,
                    {{static_cast<Computed<S>*>(dgamma), static_cast<Computed<S>*>(dbeta)}}, accumulate);
}

}  // namespace

void CudaDevice::layer_norm(const LayerNorm& op) {
  with_element_type(op.dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const RowSum<S> before{static_cast<const S*>(op.a), static_cast<const S*>(op.bias),
                           op.a == nullptr ? nullptr : static_cast<S*>(op.sum)};
    // Null pointers are at address 0, which is aligned.
    const bool aligned = rows_aligned<S>(op.cols, op.x, op.gamma, op.beta, op.y, op.a, op.bias, op.sum);
    with_kept_packs<S>(op.cols, aligned, [&](auto kept) {
      Operation(*this, "LayerNorm")
          .launch(layer_norm_kernel<S, kept>, op.rows, kRowThreads, 0, op.cols, static_cast<T>(op.epsilon),
                  static_cast<const S*>(op.x), before, static_cast<const S*>(op.gamma),
                  static_cast<const S*>(op.beta), static_cast<S*>(op.y), static_cast<T*>(op.stats), aligned);
    });
  });
}

void CudaDevice::layer_norm_grad(const LayerNormGrad& op) {
  with_element_type(op.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const Operation operation(*this, "the gradient of LayerNorm");
    const StoredMoments<T> moments{static_cast<const T*>(op.stats)};
    // Columns first: dx may be dy.
    gain_sums<S>(operation, op.rows, op.cols, op.x, moments, op.dy, op.dgamma, op.dbeta, op.accumulate);
    const bool aligned = rows_aligned<S>(op.cols, op.x, op.gamma, op.dy, op.dx, op.addend);
    with_kept_packs<S>(op.cols, aligned, [&](auto kept) {
      operation.launch(layer_norm_grad_kernel<S, kept>, op.rows, kRowThreads, 0, op.cols,
                       static_cast<const S*>(op.x), static_cast<const S*>(op.gamma), moments,
                       static_cast<const S*>(op.dy), static_cast<const S*>(op.addend), static_cast<S*>(op.dx),
                       aligned);
    });
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

void CudaDevice::layer_norm_apply(const LayerNormApply& op) {
  const CutNorm& norm = op.norm;
  with_element_type(norm.dtype, "LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    Operation(*this, "LayerNorm from its sums")
        .launch(norm_apply_kernel<S>, norm.rows, kRowThreads, 0, norm.cols, static_cast<const S*>(op.x),
                static_cast<const S*>(op.gamma), static_cast<const S*>(op.beta),
                MomentsOfParts<Computed<S>>(op), static_cast<S*>(op.y), static_cast<Computed<S>*>(op.stats),
                rows_aligned<S>(norm.cols, op.x, op.gamma, op.beta, op.y));
  });
}

void CudaDevice::layer_norm_grad_sums(const LayerNormGradSums& op) {
  const CutNorm& norm = op.norm;
  with_element_type(norm.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    const Operation operation(*this, "the sums of LayerNorm's gradient");
    const StoredMoments<T> moments{static_cast<const T*>(op.stats)};
    gain_sums<S>(operation, norm.rows, norm.cols, op.x, moments, op.dy, op.dgamma, op.dbeta, op.accumulate);
    operation.launch(norm_grad_sums_kernel<S>, norm.rows, kRowThreads, 0, norm.cols,
                     static_cast<const S*>(op.x), static_cast<const S*>(op.gamma), moments,
                     static_cast<const S*>(op.dy), static_cast<T*>(op.dsums),
                     rows_aligned<S>(norm.cols, op.x, op.gamma, op.dy));
  });
}

void CudaDevice::layer_norm_grad_apply(const LayerNormGradApply& op) {
  const CutNorm& norm = op.norm;
  with_element_type(norm.dtype, "the gradient of LayerNorm", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    Operation(*this, "LayerNorm's gradient from its sums")
        .launch(norm_grad_apply_kernel<S>, norm.rows, kRowThreads, 0, norm.cols, static_cast<T>(norm.hidden),
                static_cast<const S*>(op.x), static_cast<const S*>(op.gamma),
                StoredMoments<T>{static_cast<const T*>(op.stats)}, static_cast<const S*>(op.dy),
                static_cast<const T*>(op.dsums), static_cast<S*>(op.dx),
                rows_aligned<S>(norm.cols, op.x, op.gamma, op.dy, op.dx));
  });
}

}  // namespace shardlens::cuda
