// The code that only CUDA's compiler understands: the start of a kernel, a block's shared memory, and the
// matrix units' instructions. All other code in this folder is C++ with CUDA's functions. It can be compiled
// for a host that emulates them. tests/cuda_on_host does this, with its own header in place of this one.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace shardlens::cuda {

template <class... Parameters>
void start_kernel(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
                  cudaStream_t stream, Parameters... arguments) {
  kernel<<<blocks, threads, shared_bytes, stream>>>(arguments...);
}

/// Starts a kernel that may begin before the one that was started before it in the stream has ended, if that
/// one lets it. Then only what is behind its own wait_for_kernel_before() is ordered. For GPUs from sm_90 on,
/// and only if the kernel was compiled for them (begins_early()).
template <class... Parameters>
void start_kernel_early(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, size_t shared_bytes,
                        cudaStream_t stream, Parameters... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// For a kernel that start_kernel_early() starts, or that is before one: the next kernel may begin when all
/// blocks have called the first. The second waits until the kernel before has ended and its writes can be
/// read; every block calls it. Compiled for older GPUs they are nothing, and kernels run one after the other.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ __forceinline__ void let_next_kernel_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ __forceinline__ void wait_for_kernel_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
#else
__device__ __forceinline__ void let_next_kernel_begin() {}
__device__ __forceinline__ void wait_for_kernel_before() {}
#endif

/// The block's dynamic shared memory.
__device__ __forceinline__ unsigned char* block_memory() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}

/// blockIdx.x, read again: the compiler computes what follows from it again, and keeps none of it in registers
/// meanwhile.
__device__ __forceinline__ unsigned block_read_again() {
  unsigned block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  return block;
}

/// 2^x by the special-function unit, within 2 units in the last place. It is 0 if 2^x is less than fp32's
/// smallest normal number.
__device__ __forceinline__ float power_of_2(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

/// Starts a copy of kBytes (4, 8 or 16, and both addresses multiples of it) from the GPU's memory to shared
/// memory. If the source does not `exist`, writes zeros and reads nothing. The destination is undefined until
/// wait_for_copies().
template <int kBytes>
__device__ __forceinline__ void ask_for_copy(void* to, const void* from, bool exists) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const size_t source = __cvta_generic_to_global(from);
  const uint32_t bytes = exists ? kBytes : 0;
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(source), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(source), "n"(kBytes),
                 "r"(bytes)
                 : "memory");
}

/// Waits for the copies that this thread has started. Other threads see them after a barrier that follows.
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Loads four 8 × 8 matrices. Each lane points to one row of one of them.
template <class S>
__device__ __forceinline__ void load_matrices(const S* row, uint32_t (&out)[4]) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

template <class S>
__device__ __forceinline__ void load_transposed(const S* row, uint32_t (&out)[4]) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

/// sum [16, 8] += left [16, 16] · right [16, 8]
template <class S>
__device__ __forceinline__ void multiply_add(float (&sum)[4], const uint32_t (&left)[4], uint32_t right_low,
                                             uint32_t right_high) {
  if constexpr (std::is_same_v<S, __nv_bfloat16>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_low), "r"(right_high));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_low), "r"(right_high));
}

}  // namespace shardlens::cuda
