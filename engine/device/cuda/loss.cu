// Cross-entropy over one rank's columns of the vocabulary, with one block for each token. Padding does not
// count: it is not in the maximum or the sum, and its gradient is zero.
#include <limits>

#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

namespace {

/// Calls body(column, elements left) for a thread's packs of columns [0, cols).
template <class S, class Body>
__device__ __forceinline__ void for_packs(int64_t cols, Body&& body) {
  for (int64_t col = int64_t{threadIdx.x} * kLanes<S>; col < cols; col += int64_t{kRowThreads} * kLanes<S>)
    body(col, cols - col);
}

/// `lowest` is the maximum of a rank with only padding.
template <class S>
__global__ void __launch_bounds__(kRowThreads)
    vocab_max_kernel(int64_t width, int64_t present, const S* logits, Computed<S> lowest, Computed<S>* max,
                     bool aligned) {
  using T = Computed<S>;
  __shared__ T shared[kRowThreads / 32];
  const int64_t token = blockIdx.x;
  T largest = lowest;
  for_packs<S>(present, [&](int64_t col, int64_t count) {
    T value[kLanes<S>];
    load_pack(logits + token * width + col, count, aligned, lowest, value);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) largest = value[i] > largest ? value[i] : largest;
  });
  largest = block_max(largest, shared);
  if (threadIdx.x == 0) max[token] = largest;
}

template <class S>
__global__ void target_logit_kernel(int64_t tokens, Range columns, const S* logits, const int32_t* labels,
                                    Computed<S>* target) {
  const int64_t token = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (token >= tokens) return;
  const int64_t width = columns.end - columns.begin, col = labels[token] - columns.begin;
  const bool mine = labels[token] >= 0 && col >= 0 && col < width;
  target[token] = mine ? widen(logits[token * width + col]) : Computed<S>(0);
}

template <class S>
__global__ void __launch_bounds__(kRowThreads)
    sum_exp_kernel(int64_t width, int64_t present, const S* logits, const Computed<S>* max, Computed<S>* sum,
                   bool aligned) {
  using T = Computed<S>;
  __shared__ T shared[kRowThreads / 32];
  const int64_t token = blockIdx.x;
  const T top = max[token];
  T total = 0;
  for_packs<S>(present, [&](int64_t col, int64_t count) {
    T value[kLanes<S>];
    load_pack(logits + token * width + col, count, aligned, T(0), value);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) total += i < count ? std::exp(value[i] - top) : T(0);
  });
  total = block_sum(total, shared);
  if (threadIdx.x == 0) sum[token] = total;
}

/// One block, because the loss is one number. It is added up in fp64, as on the CPU.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    cross_entropy_kernel(int64_t tokens, const T* max, const T* target, const T* sum, const T* weights,
                         T* loss) {
  __shared__ double shared[kRowThreads / 32];
  double total = 0;
  for (int64_t token = threadIdx.x; token < tokens; token += kRowThreads) {
    const T weight = weights[token];
    if (weight == T(0)) continue;  // an ignored label has no logit
    const T value = max[token] + std::log(sum[token]) - target[token];
    total += static_cast<double>(weight) * static_cast<double>(value);
  }
  total = block_sum(total, shared);
  if (threadIdx.x == 0) *loss = static_cast<T>(total);
}

/// dlogits may be logits: a thread reads a pack before it writes it, also the label's.
template <class S>
__global__ void __launch_bounds__(kRowThreads)
    cross_entropy_grad_kernel(Range columns, int64_t present, const S* logits, const int32_t* labels,
                              const Computed<S>* max, const Computed<S>* sum, const Computed<S>* weights,
                              const Computed<S>* scale, S* dlogits, bool aligned) {
  using T = Computed<S>;
  const int64_t token = blockIdx.x, width = columns.end - columns.begin;
  const T weight = weights[token] * (scale == nullptr ? T(1) : *scale);
  const T top = max[token], inverse = weight / sum[token];
  const int64_t label = labels[token] < 0 ? -1 : labels[token] - columns.begin;
  const S* row = logits + token * width;
  for_packs<S>(width, [&](int64_t col, int64_t count) {
    T value[kLanes<S>];
    load_pack(row + col, count, aligned, T(0), value);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) {
      const T gradient = std::exp(value[i] - top) * inverse;
      const bool counts = weight != T(0) && col + i < present;
      value[i] = !counts ? T(0) : col + i == label ? gradient - weight : gradient;
    }
    store_pack(dlogits + token * width + col, count, aligned, value);
  });
}

int64_t present(const VocabShard& shard) {
  return present_columns(shard.vocab, shard.columns.begin, shard.columns.size());
}

}  // namespace

void CudaDevice::vocab_max(const VocabShard& shard, const void* logits, void* max) {
  with_element_type(shard.dtype, "a maximum", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    Operation(*this, "a maximum")
        .launch(vocab_max_kernel<S>, shard.tokens, kRowThreads, 0, shard.columns.size(), present(shard),
                static_cast<const S*>(logits), std::numeric_limits<T>::lowest(), static_cast<T*>(max),
                rows_aligned<S>(shard.columns.size(), logits));
  });
}

void CudaDevice::target_logit(const VocabShard& shard, const void* logits, const int32_t* labels,
                              void* target) {
  with_element_type(shard.dtype, "a target logit", [&](auto zero) {
    using S = decltype(zero);
    constexpr int kThreads = 256;
    Operation(*this, "a target logit")
        .launch(target_logit_kernel<S>, pieces(shard.tokens, kThreads), kThreads, 0, shard.tokens,
                shard.columns, static_cast<const S*>(logits), labels, static_cast<Computed<S>*>(target));
  });
}

void CudaDevice::sum_exp(const SumExp& op) {
  const VocabShard& shard = op.shard;
  with_element_type(shard.dtype, "a sum of exponentials", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    Operation(*this, "a sum of exponentials")
        .launch(sum_exp_kernel<S>, shard.tokens, kRowThreads, 0, shard.columns.size(), present(shard),
                static_cast<const S*>(op.logits), static_cast<const T*>(op.max), static_cast<T*>(op.sum),
                rows_aligned<S>(shard.columns.size(), op.logits));
  });
}

void CudaDevice::cross_entropy(const CrossEntropy& op) {
  with_wide_type(op.dtype, "cross-entropy", [&](auto zero) {
    using T = decltype(zero);
    Operation(*this, "cross-entropy")
        .launch(cross_entropy_kernel<T>, 1, kRowThreads, 0, op.tokens, static_cast<const T*>(op.max),
                static_cast<const T*>(op.target), static_cast<const T*>(op.sum),
                static_cast<const T*>(op.weights), static_cast<T*>(op.loss));
  });
}

void CudaDevice::cross_entropy_grad(const CrossEntropyGrad& op) {
  const VocabShard& shard = op.shard;
  with_element_type(shard.dtype, "the gradient of cross-entropy", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    Operation(*this, "the gradient of cross-entropy")
        .launch(cross_entropy_grad_kernel<S>, shard.tokens, kRowThreads, 0, shard.columns, present(shard),
                static_cast<const S*>(op.logits), op.labels, static_cast<const T*>(op.max),
                static_cast<const T*>(op.sum), static_cast<const T*>(op.weights),
                static_cast<const T*>(op.scale), static_cast<S*>(op.dlogits),
                rows_aligned<S>(shard.columns.size(), op.logits, op.dlogits));
  });
}

}  // namespace shardlens::cuda
