// The base of every operation of the CUDA device: errors, launches, the types in which elements are stored
// and computed, and loads and stores of 16 bytes of a row.
//
// If a row is not aligned, or ends within a pack, the elements of a pack are loaded and stored one by one.
// The same thread computes them in the same lanes. So an element's bits do not depend on its address or on
// the rest of the row.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/base/error.h"
#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/instructions.cuh"
#include "engine/device/cuda/places.h"

namespace shardlens::cuda {

/// True if the status is the failure of a kernel. Every later call then returns the same status.
inline bool is_of_a_kernel(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

/// Throws a run Error with the operation, the call and CUDA's message, unless the call succeeded.
inline void check(const std::string& operation, const char* call, cudaError_t status) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error for the next launch
  throw run_error(
      operation + " on the GPU: " + call + " failed with " + cudaGetErrorName(status) + ": " +
      cudaGetErrorString(status) +
      (is_of_a_kernel(status)
           ? "; the failed kernel may be an earlier one, of this rank or of another one on the GPU: "
             "CUDA_LAUNCH_BLOCKING=1 shows which"
           : ""));
}

/// One operation during its call, in any thread: its name for errors, the stream, the scratch.
class Operation {
 public:
  Operation(const CudaDevice& device, const char* name)
      : name_(name),
        stream_(device.stream_),
        scratch_(device.scratch_),
        scratch_bytes_(CudaDevice::kScratchBytes),
        tickets_(device.tickets_),
        multiprocessors_(device.multiprocessors_),
        shared_room_(device.shared_room_),
        early_(device.early_),
        follows_token_kernel_(std::exchange(device.early_.token_kernel_last, false)) {
    check("cudaSetDevice", cudaSetDevice(device.gpu_));
  }

  const char* name() const { return name_; }
  cudaStream_t stream() const { return stream_; }
  template <class T>
  T* scratch() const {
    return static_cast<T*>(scratch_);
  }
  size_t scratch_bytes() const { return scratch_bytes_; }
  /// CudaDevice::kTickets counters, all 0 between two kernels (last_block.cuh).
  unsigned* tickets() const { return tickets_; }
  /// The GPU's multiprocessors, and the bytes of shared memory that the blocks of one of them can have.
  int64_t multiprocessors() const { return multiprocessors_; }
  int64_t shared_room() const { return shared_room_; }

  void check(const char* call, cudaError_t status) const { cuda::check(name_, call, status); }

  /// Launches a one-dimensional grid. Launches nothing if there are no blocks.
  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared_bytes,
              const Arguments&... arguments) const {
    launch_by(start_kernel<Parameters...>, kernel, blocks, threads, shared_bytes, arguments...);
  }

  /// The same for kernels of few tokens. If one of them was the last work of this device, the next may begin
  /// while it ends. All of them call let_next_kernel_begin() and wait_for_kernel_before(). What they read
  /// before they wait is never a result of another one of them: weights, positions, and old rows of a cache.
  /// So it is there, because the first of several in a row begins after all that was asked for before.
  template <class... Parameters, class... Arguments>
  void launch_for_token(void (*kernel)(Parameters...), int64_t blocks, int threads, size_t shared_bytes,
                        const Arguments&... arguments) const {
    if (!early_.is_possible) early_.is_possible = begins_early(kernel);
    const bool early = *early_.is_possible && (early_.token_kernel_last || follows_token_kernel_);
    launch_by(early ? start_kernel_early<Parameters...> : start_kernel<Parameters...>, kernel, blocks,
              threads, shared_bytes, arguments...);
    early_.token_kernel_last = blocks > 0;
  }

 private:
  /// True if the code that runs on this GPU was compiled for one that has early kernels, not for an older
  /// one.
  template <class Kernel>
  bool begins_early(Kernel* kernel) const {
    constexpr int kFirstVersion = 90;
    cudaFuncAttributes attributes{};
    check("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, kernel));
    return attributes.ptxVersion >= kFirstVersion;
  }

  template <class Start, class... Parameters, class... Arguments>
  void launch_by(Start* start, void (*kernel)(Parameters...), int64_t blocks, int threads,
                 size_t shared_bytes, const Arguments&... arguments) const {
    static_assert((sizeof(Parameters) + ... + 0) <= 4096, "more than a launch takes on every GPU");
    if (blocks == 0) return;
    if (blocks > INT32_MAX)
      throw run_error(std::string(name_) + " on the GPU needs " + std::to_string(blocks) +
                      " blocks, more than a launch allows: choose a smaller batch or sequence");
    if (shared_bytes > (size_t{48} << 10)) allow_shared(kernel, shared_bytes);
    start(kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes, stream_,
          static_cast<Parameters>(arguments)...);
    check("the launch of its kernel", cudaGetLastError());
  }

  /// Asks for more shared memory than the default of every GPU.
  template <class Kernel>
  void allow_shared(Kernel* kernel, size_t bytes) const {
    const cudaError_t status =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (status == cudaErrorInvalidValue) {
      cudaGetLastError();
      throw run_error(std::string(name_) + " on the GPU needs " + std::to_string(bytes) +
                      " bytes of shared memory a block, more than this GPU has: choose more heads, so that "
                      "each is narrower, or a narrower dtype");
    }
    check("cudaFuncSetAttribute", status);
  }

  const char* name_;
  cudaStream_t stream_;
  void* scratch_;
  size_t scratch_bytes_;
  unsigned* tickets_;
  int64_t multiprocessors_, shared_room_;
  EarlyKernels& early_;
  bool follows_token_kernel_;
};

/// A wrong position in a cache that a kernel found. It is in host memory that both sides can access. `found`
/// is written last.
struct Fault {
  volatile int found = 0;
  volatile int64_t seq = 0, room = 0, first = 0, index = 0, position = 0;
};

/// The type to compute in, for numbers stored as S: fp32 for 16-bit numbers, otherwise the same type.
template <class S>
struct ComputedIn {
  using Type = S;
};
template <>
struct ComputedIn<__nv_bfloat16> {
  using Type = float;
};
template <>
struct ComputedIn<__half> {
  using Type = float;
};
template <class S>
using Computed = typename ComputedIn<S>::Type;

template <class S>
inline constexpr bool kIsHalf = !std::is_same_v<S, Computed<S>>;

/// Calls compute(T{}) with T = float or double, the types of statistics, weight gradients and the optimizer.
template <class Compute>
void with_wide_type(DType dtype, const char* operation, Compute&& compute) {
  if (dtype == DType::Fp32) return compute(float{});
  if (dtype == DType::Fp64) return compute(double{});
  throw request_error(std::string(operation) + " in " + to_string(dtype) +
                      " is not executed on a GPU: it needs fp32 or fp64");
}

/// Calls compute(S{}) with the type that elements are stored as. Computed<S> is the type to compute in.
template <class Compute>
void with_element_type(DType dtype, const char* operation, Compute&& compute) {
  if (dtype == DType::Bf16) return compute(__nv_bfloat16{});
  if (dtype == DType::Fp16) return compute(__half{});
  with_wide_type(dtype, operation, compute);
}

__device__ __forceinline__ float widen(float value) {
  return value;
}
__device__ __forceinline__ double widen(double value) {
  return value;
}
__device__ __forceinline__ float widen(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ __forceinline__ float widen(__half value) {
  return __half2float(value);
}

template <class S>
__device__ __forceinline__ S narrow(Computed<S> value) {
  if constexpr (std::is_same_v<S, __nv_bfloat16>)
    return __float2bfloat16_rn(value);
  else if constexpr (std::is_same_v<S, __half>)
    return __float2half_rn(value);
  else
    return value;
}

/// The value after a store as S and a load: rounded if S is a 16-bit format.
template <class S>
__device__ __forceinline__ Computed<S> as_stored(Computed<S> value) {
  return widen(narrow<S>(value));
}

/// The number of elements in 16 bytes.
template <class S>
inline constexpr int kLanes = 16 / static_cast<int>(sizeof(S));

template <class S, int kCount = kLanes<S>>
struct alignas(kCount * sizeof(S)) Pack {
  S lane[kCount];
};

/// True if the rows of all these, with `stride` elements each, begin at multiples of 16 bytes.
template <class S, class... Pointers>
bool rows_aligned(int64_t stride, const Pointers*... first) {
  const auto aligned = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
  return stride * static_cast<int64_t>(sizeof(S)) % 16 == 0 && (aligned(first) && ...);
}

/// Loads the first `count` elements of a pack, at least one. The other lanes are `fill`. kWhole: the pack is
/// aligned and whole. Such loads have no branch, so several can be in progress; with a branch each load would
/// wait for the previous one.
template <bool kWhole = false, class S>
__device__ __forceinline__ void load_pack(const S* from, int64_t count, bool aligned, Computed<S> fill,
                                          Computed<S> (&out)[kLanes<S>]) {
  if (kWhole || (aligned && count >= kLanes<S>)) {
    const Pack<S> pack = *reinterpret_cast<const Pack<S>*>(from);
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) out[i] = widen(pack.lane[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kLanes<S>; ++i) out[i] = i < count ? widen(from[i]) : fill;
  }
}

/// Stores the first `count` elements of a pack. A pack may have fewer than 16 bytes: values of 16 bytes in
/// the wide type have 8 as 16-bit elements.
template <bool kWhole = false, class S, int kCount>
__device__ __forceinline__ void store_pack(S* to, int64_t count, bool aligned,
                                           const Computed<S> (&values)[kCount]) {
  if (kWhole || (aligned && count >= kCount)) {
    Pack<S, kCount> pack;
#pragma unroll
    for (int i = 0; i < kCount; ++i) pack.lane[i] = narrow<S>(values[i]);
    *reinterpret_cast<Pack<S, kCount>*>(to) = pack;
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (i < count) to[i] = narrow<S>(values[i]);
  }
}

/// The threads of a block in kernels with one block for each row. All of their reductions are over this many
/// threads.
inline constexpr int kRowThreads = 256;

/// The sum over kRowThreads threads, always added in the same order. All threads get the result. `shared` has
/// a number for each warp. A block of fewer threads can play them: thread t has the values of t, t + the
/// block's threads and so on.
template <class T, int kPlayed>
__device__ __forceinline__ T block_sum(const T (&values)[kPlayed], T* shared) {
  constexpr int kWarps = kRowThreads / kPlayed / 32;
  T value[kPlayed];
#pragma unroll
  for (int p = 0; p < kPlayed; ++p) {
    value[p] = values[p];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) value[p] += __shfl_xor_sync(0xFFFFFFFFu, value[p], offset);
  }
  __syncthreads();  // the numbers of an earlier call in `shared` have been read
#pragma unroll
  for (int p = 0; p < kPlayed; ++p)
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32 + p * kWarps] = value[p];
  __syncthreads();
  T total = shared[0];
#pragma unroll
  for (int warp = 1; warp < kRowThreads / 32; ++warp) total += shared[warp];
  return total;
}
template <class T>
__device__ __forceinline__ T block_sum(T value, T* shared) {
  const T values[1] = {value};
  return block_sum(values, shared);
}

/// The largest of the block's numbers. A NaN does not count.
template <class T>
__device__ __forceinline__ T block_max(T value, T* shared) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const T other = __shfl_xor_sync(0xFFFFFFFFu, value, offset);
    value = other > value ? other : value;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  T largest = shared[0];
#pragma unroll
  for (int warp = 1; warp < kRowThreads / 32; ++warp)
    largest = shared[warp] > largest ? shared[warp] : largest;
  return largest;
}

}  // namespace shardlens::cuda
