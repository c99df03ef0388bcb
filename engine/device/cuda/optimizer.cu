// The optimizer's passes over memory: the gradients' norm, the factor that clips it, and AdamW in one pass
// over parameter, gradient and both moments.
#include <algorithm>

#include "engine/device/cuda/formulas.h"
#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

namespace {

/// Some tensors of square_sum()'s list. It is passed by value, because the list is in host memory.
template <class T>
struct SquareList {
  static constexpr int kMost = 168;
  ListedBlocks<kMost> blocks;  // one a chunk
  const T* data[kMost];
  int64_t elements[kMost];
};

/// partial[block] = Σ x² of the block's chunk of `size` elements, in fp64. A thread adds its packs in order.
/// Whole packs are loaded several at a time.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    square_chunks_kernel(SquareList<T> list, int64_t size, double* partial) {
  __shared__ double shared[kRowThreads / 32];
  const int tensor = list.blocks.tensor_of(blockIdx.x);
  const int64_t begin = (blockIdx.x - list.blocks.first[tensor]) * size;
  const T* const x = list.data[tensor] + begin;
  const int64_t rest = list.elements[tensor] - begin, count = rest < size ? rest : size;
  const bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0;
  constexpr int kAtOnce = 4;
  constexpr int64_t kStride = int64_t{kRowThreads} * kLanes<T>;
  double sum = 0;
  const auto add = [&](const T(&value)[kLanes<T>]) {
#pragma unroll
    for (int lane = 0; lane < kLanes<T>; ++lane)
      sum += static_cast<double>(value[lane]) * static_cast<double>(value[lane]);
  };
  int64_t i = int64_t{threadIdx.x} * kLanes<T>;
  if (aligned) {
    for (; i + (kAtOnce - 1) * kStride + kLanes<T> <= count; i += kAtOnce * kStride) {
      T value[kAtOnce][kLanes<T>];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) load_pack<true>(x + i + k * kStride, 0, true, T(0), value[k]);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) add(value[k]);
    }
  }
  for (; i < count; i += kStride) {
    T value[kLanes<T>];
    load_pack(x + i, count - i, aligned, T(0), value);
    add(value);
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// *total = Σ partial. One block.
__global__ void __launch_bounds__(kRowThreads)
    add_partials_kernel(int64_t count, const double* partial, double* total) {
  __shared__ double shared[kRowThreads / 32];
  double sum = 0;
#pragma unroll 8
  for (int64_t i = threadIdx.x; i < count; i += kRowThreads) sum += partial[i];
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) *total = sum;
}

/// Some of clip_factor()'s sums. It is passed by value, because the list is in host memory.
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

/// One tensor of adamw_kernel(): its addresses, and its factor after weight decay.
template <class S>
struct MovedTensor {
  S* parameter;
  const Computed<S>* gradient;
  Computed<S>*m, *v, *master;  // master may be null
  int64_t count;
  Computed<S> keep;
  bool aligned, parameter_aligned;
};

/// Some of adamw()'s steps, which have the same other numbers. It is passed by value, because the list is in
/// host memory.
template <class S>
struct MovedList {
  static constexpr int kMost = 54;
  AdamWNumbers<Computed<S>> numbers;
  const double* factor;
  ListedBlocks<kMost> blocks;  // one for kMovingThreads packs
  MovedTensor<S> tensor[kMost];
};

constexpr int kMovingThreads = 256;

/// The parameter is stored as S and updated as T: in `master` if there is one, and then rounded into
/// `parameter`. A thread takes as many elements as a pack of S has: two packs of T if S has 16 bits. The
/// block's first packs come before its second ones, so that the threads of a warp access whole lines of
/// memory. The rounded pack then has only 8 bytes.
template <class S>
__global__ void adamw_kernel(MovedList<S> list) {
  using T = Computed<S>;
  constexpr int kPack = kLanes<T>, kPacks = kLanes<S> / kPack;
  const int which = list.blocks.tensor_of(blockIdx.x);
  const int64_t block = blockIdx.x - list.blocks.first[which];
  const auto [parameter, gradient, m, v, master, count, keep, aligned, parameter_aligned] =
      list.tensor[which];
  const int64_t i = block * kMovingThreads * kLanes<S> + threadIdx.x * kPack;
  if (i >= count) return;
  const double wanted_factor = *list.factor;
  T* updated;
  if constexpr (kIsHalf<S>)
    updated = master;
  else
    updated = master != nullptr ? master : parameter;
  constexpr int64_t kStride = int64_t{kMovingThreads} * kPack;
  T p[kPacks][kPack], g[kPacks][kPack], first[kPacks][kPack], second[kPacks][kPack];
  const auto load = [&]<bool kWhole>(int pack) {
    const int64_t at = i + pack * kStride, rest = count - at;
    load_pack<kWhole>(updated + at, rest, aligned, T(0), p[pack]);
    load_pack<kWhole>(gradient + at, rest, aligned, T(0), g[pack]);
    load_pack<kWhole>(m + at, rest, aligned, T(0), first[pack]);
    load_pack<kWhole>(v + at, rest, aligned, T(0), second[pack]);
  };
  if (aligned && i + (kPacks - 1) * kStride + kPack <= count) {
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) load.template operator()<true>(pack);
  } else {
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack)
      if (i + pack * kStride < count) load.template operator()<false>(pack);
  }
  if (wanted_factor == 0) return;
  const T factor = static_cast<T>(wanted_factor);
  AdamWNumbers<T> numbers = list.numbers;
  numbers.keep = keep;
#pragma unroll
  for (int pack = 0; pack < kPacks; ++pack) {
    const int64_t at = i + pack * kStride;
    if (at >= count) break;
#pragma unroll
    for (int lane = 0; lane < kPack; ++lane)
      numbers.update(g[pack][lane] * factor, first[pack][lane], second[pack][lane], p[pack][lane]);
    store_pack(m + at, count - at, aligned, first[pack]);
    store_pack(v + at, count - at, aligned, second[pack]);
    store_pack(updated + at, count - at, aligned, p[pack]);
    if (master != nullptr) store_pack(parameter + at, count - at, parameter_aligned, p[pack]);
  }
}

/// AdamW for steps that have the same numbers except for the decay.
template <class S>
void move_alike(const Operation& operation, std::span<const AdamWStep> steps) {
  using T = Computed<S>;
  MovedList<S> list{AdamWNumbers<T>(steps.front()), steps.front().factor, {}, {}};
  const auto move = [&] {
    operation.launch(adamw_kernel<S>, list.blocks.blocks(), kMovingThreads, 0, list);
    list.blocks = {};
  };
  for (const AdamWStep& step : steps) {
    if (step.count == 0) continue;  // a rank without heads holds nothing, and no copy of it
    if (kIsHalf<S> && step.master == nullptr)
      throw run_error("AdamW on the GPU: a 16-bit parameter needs an fp32 copy, and there is none");
    const bool parameter_aligned = rows_aligned<S>(kLanes<S>, step.parameter);
    const bool aligned =
        (kIsHalf<S> || parameter_aligned) &&
        rows_aligned<T>(kLanes<T>, step.gradient, step.first_moment, step.second_moment, step.master);
    list.tensor[list.blocks.count] = {static_cast<S*>(step.parameter),
                                      static_cast<const T*>(step.gradient),
                                      static_cast<T*>(step.first_moment),
                                      static_cast<T*>(step.second_moment),
                                      static_cast<T*>(step.master),
                                      step.count,
                                      AdamWNumbers<T>::kept(step),
                                      aligned,
                                      parameter_aligned};
    list.blocks.add(pieces(step.count, int64_t{kMovingThreads} * kLanes<S>));
    if (list.blocks.is_full()) move();
  }
  move();
}

}  // namespace

void CudaDevice::square_sum(DType dtype, std::span<const ListedTensor> tensors, double* total) {
  with_wide_type(dtype, "a sum of squares", [&](auto zero) {
    using T = decltype(zero);
    const Operation operation(*this, "a sum of squares");
    const auto chunks = [&](int64_t size) {
      int64_t sum = 0;
      for (const ListedTensor& tensor : tensors) sum += pieces(tensor.count, size);
      return sum;
    };
    // Chunks are larger if the scratch would not hold their sums.
    int64_t size = int64_t{kRowThreads} * kLanes<T> * 32;
    while (chunks(size) > static_cast<int64_t>(operation.scratch_bytes() / sizeof(double))) size *= 2;
    SquareList<T> list{};
    int64_t done = 0;
    const auto add_squares = [&] {
      operation.launch(square_chunks_kernel<T>, list.blocks.blocks(), kRowThreads, 0, list, size,
                       operation.scratch<double>() + done);
      done += list.blocks.blocks();
      list.blocks = {};
    };
    for (const ListedTensor& tensor : tensors) {
      if (tensor.count == 0) continue;
      list.data[list.blocks.count] = static_cast<const T*>(tensor.data);
      list.elements[list.blocks.count] = tensor.count;
      list.blocks.add(pieces(tensor.count, size));
      if (list.blocks.is_full()) add_squares();
    }
    add_squares();
    operation.launch(add_partials_kernel, 1, kRowThreads, 0, done, operation.scratch<double>(), total);
  });
}

void CudaDevice::clip_factor(const ClipFactor& op) {
  const Operation operation(*this, "the clipping of gradients");
  auto* squares = operation.scratch<double>();
  const int count = static_cast<int>(op.sums.size());
  int done = 0;
  do {
    SumList list{};
    list.count = std::min(SumList::kMost, count - done);
    std::copy_n(op.sums.data() + done, list.count, list.sum);
    operation.launch(add_list_kernel, 1, 1, 0, list, squares, done > 0);
    done += list.count;
  } while (done < count);
  if (op.scale_dtype == DType::Fp64)
    operation.launch(clip_factor_kernel<double>, 1, 1, 0, squares, op.clip,
                     static_cast<const double*>(op.scale), op.factor);
  else
    operation.launch(clip_factor_kernel<float>, 1, 1, 0, squares, op.clip,
                     static_cast<const float*>(op.scale), op.factor);
}

// A launch takes steps that have their numbers in common, as all steps of a pass have, and as many as its
// arguments hold.
void CudaDevice::adamw(std::span<const AdamWStep> steps) {
  const auto is_alike = [](const AdamWStep& a, const AdamWStep& b) {
    return a.dtype == b.dtype && a.factor == b.factor && a.learning_rate == b.learning_rate &&
           a.beta1 == b.beta1 && a.beta2 == b.beta2 && a.epsilon == b.epsilon && a.iteration == b.iteration;
  };
  while (!steps.empty()) {
    const AdamWStep& one = steps.front();
    const auto end = std::find_if_not(steps.begin(), steps.end(),
                                      [&](const AdamWStep& step) { return is_alike(step, one); });
    const auto alike = steps.first(static_cast<size_t>(end - steps.begin()));
    with_element_type(one.dtype, "AdamW",
                      [&](auto zero) { move_alike<decltype(zero)>(Operation(*this, "AdamW"), alike); });
    steps = steps.subspan(alike.size());
  }
}

}  // namespace shardlens::cuda
