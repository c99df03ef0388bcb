// The optimizer's passes over memory: the gradients' norm, the factor that clips it, and AdamW in one pass
// over parameter, gradient and both moments.
#include <algorithm>

#include "engine/device/cuda/formulas.h"
#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

namespace {

/// partial[block] = Σ x² of the block's chunk, in fp64.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    square_chunks_kernel(RowChunks chunks, const T* x, double* partial, bool aligned) {
  __shared__ double shared[kRowThreads / 32];
  const int64_t end = chunks.end(blockIdx.x);
  double sum = 0;
  for (int64_t i = chunks.begin(blockIdx.x) + int64_t{threadIdx.x} * kLanes<T>; i < end;
       i += int64_t{kRowThreads} * kLanes<T>) {
    T value[kLanes<T>];
    load_pack(x + i, end - i, aligned, T(0), value);
#pragma unroll
    for (int lane = 0; lane < kLanes<T>; ++lane)
      sum += static_cast<double>(value[lane]) * static_cast<double>(value[lane]);
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// *total = (accumulate ? *total : 0) + Σ partial, by one block.
__global__ void __launch_bounds__(kRowThreads)
    add_partials_kernel(int64_t count, const double* partial, double* total, bool accumulate) {
  __shared__ double shared[kRowThreads / 32];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kRowThreads) sum += partial[i];
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) *total = (accumulate ? *total : 0.0) + sum;
}

/// Some of clip_factor()'s sums, by value: the list is in host memory.
struct SumList {
  static constexpr int kMost = 64;
  const double* sum[kMost];
  int count;
};

/// *total = (accumulate ? *total : 0) + the listed sums, in order.
__global__ void add_list_kernel(SumList list, double* total, bool accumulate) {
  double squares = accumulate ? *total : 0.0;
  for (int i = 0; i < list.count; ++i) squares += *list.sum[i];
  *total = squares;
}

template <class T>
__global__ void clip_factor_kernel(const double* squares, double clip, const T* scale, double* factor) {
  clip_numbers(*squares, scale == nullptr ? 1.0 : static_cast<double>(*scale), clip, factor);
}

/// Whole 16-byte accesses of all it reads and writes are a pack of S a thread, which is two packs of T where
/// S has 16 bits: S is what the parameter is stored as and T what it is updated in, in `master` where there
/// is one, and then rounded into `parameter`.
template <class S>
__global__ void adamw_kernel(AdamWNumbers<Computed<S>> numbers, int64_t count, S* parameter,
                             const Computed<S>* gradient, Computed<S>* m, Computed<S>* v, Computed<S>* master,
                             const double* step_factor, bool aligned, bool parameter_aligned) {
  using T = Computed<S>;
  constexpr int kPack = kLanes<T>, kPacks = kLanes<S> / kPack;
  const int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kLanes<S>;
  if (i >= count || *step_factor == 0) return;
  const T factor = static_cast<T>(*step_factor);
  T* updated;
  if constexpr (kIsHalf<S>)
    updated = master;
  else
    updated = master != nullptr ? master : parameter;
  T p[kPacks][kPack], g[kPacks][kPack], first[kPacks][kPack], second[kPacks][kPack], rounded[kLanes<S>];
#pragma unroll
  for (int pack = 0; pack < kPacks; ++pack) {
    const int64_t at = i + pack * kPack;
    if (at >= count) break;
    load_pack(updated + at, count - at, aligned, T(0), p[pack]);
    load_pack(gradient + at, count - at, aligned, T(0), g[pack]);
    load_pack(m + at, count - at, aligned, T(0), first[pack]);
    load_pack(v + at, count - at, aligned, T(0), second[pack]);
  }
#pragma unroll
  for (int pack = 0; pack < kPacks; ++pack) {
    const int64_t at = i + pack * kPack;
    if (at >= count) break;
#pragma unroll
    for (int lane = 0; lane < kPack; ++lane) {
      numbers.update(g[pack][lane] * factor, first[pack][lane], second[pack][lane], p[pack][lane]);
      rounded[pack * kPack + lane] = p[pack][lane];
    }
    store_pack(m + at, count - at, aligned, first[pack]);
    store_pack(v + at, count - at, aligned, second[pack]);
    store_pack(updated + at, count - at, aligned, p[pack]);
  }
  if (master != nullptr) store_pack(parameter + i, count - i, parameter_aligned, rounded);
}

}  // namespace

void CudaDevice::square_sum(DType dtype, int64_t count, const void* x, double* total, bool accumulate) {
  with_wide_type(dtype, "a sum of squares", [&](auto zero) {
    using T = decltype(zero);
    const Operation operation(*this, "a sum of squares");
    // Chunks grow where the scratch would not hold their sums.
    constexpr int64_t kChunk = int64_t{kRowThreads} * kLanes<T> * 32;
    const auto most = static_cast<int64_t>(operation.scratch_bytes() / sizeof(double));
    const RowChunks chunks{1, count, kChunk * std::max<int64_t>(1, pieces(pieces(count, kChunk), most))};
    operation.launch(square_chunks_kernel<T>, chunks.count(), kRowThreads, 0, chunks,
                     static_cast<const T*>(x), operation.scratch<double>(), rows_aligned<T>(kLanes<T>, x));
    operation.launch(add_partials_kernel, 1, kRowThreads, 0, chunks.count(), operation.scratch<double>(),
                     total, accumulate);
  });
}

void CudaDevice::clip_factor(int count, const double* const* sums, double clip, DType dtype,
                             const void* scale, double* factor) {
  const Operation operation(*this, "the clipping of gradients");
  auto* squares = operation.scratch<double>();
  int done = 0;
  do {
    SumList list{};
    list.count = std::min(SumList::kMost, count - done);
    std::copy_n(sums + done, list.count, list.sum);
    operation.launch(add_list_kernel, 1, 1, 0, list, squares, done > 0);
    done += list.count;
  } while (done < count);
  if (dtype == DType::Fp64)
    operation.launch(clip_factor_kernel<double>, 1, 1, 0, squares, clip, static_cast<const double*>(scale),
                     factor);
  else
    operation.launch(clip_factor_kernel<float>, 1, 1, 0, squares, clip, static_cast<const float*>(scale),
                     factor);
}

void CudaDevice::adamw(const AdamWStep& step) {
  with_element_type(step.dtype, "AdamW", [&](auto zero) {
    using S = decltype(zero);
    using T = Computed<S>;
    if (kIsHalf<S> && step.master == nullptr)
      throw run_error("AdamW on the GPU: a parameter of 16 bits needs its fp32 copy, and there is none");
    constexpr int kThreads = 256;
    const bool parameter_aligned = rows_aligned<S>(kLanes<S>, step.parameter);
    const bool aligned =
        (kIsHalf<S> || parameter_aligned) &&
        rows_aligned<T>(kLanes<T>, step.gradient, step.first_moment, step.second_moment, step.master);
    Operation(*this, "AdamW")
        .launch(adamw_kernel<S>, pieces(step.count, int64_t{kThreads} * kLanes<S>), kThreads, 0,
                AdamWNumbers<T>(step), step.count, static_cast<S*>(step.parameter),
                static_cast<const T*>(step.gradient), static_cast<T*>(step.first_moment),
                static_cast<T*>(step.second_moment), static_cast<T*>(step.master), step.factor, aligned,
                parameter_aligned);
  });
}

}  // namespace shardlens::cuda
