// The part of CUDA's keywords and runtime that engine/device/cuda uses, on the host. Memory is the host's,
// block.h runs kernels, and streams do their work later, in a random order (streams.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda_on_host/block.h"
#include "tests/cuda_on_host/streams.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorStubLibrary = 34,
  cudaErrorInsufficientDriver = 35,
  cudaErrorECCUncorrectable = 214,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorHardwareStackError = 714,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorInvalidAddressSpace = 717,
  cudaErrorInvalidPc = 718,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaHostAllocDefault = 0, cudaHostAllocMapped = 2,
                          cudaEventDisableTiming = 2;

inline constexpr int kPlayedGpus = 2, kPlayedCuda = 13000;
inline constexpr size_t kPlayedBytes = size_t{1} << 36, kPlayedPitch = INT32_MAX;

struct cudaDeviceProp {
  char name[256] = "played on the host";
  int major = 9, minor = 0;
  int multiProcessorCount = on_host::multiprocessors;
  size_t sharedMemPerMultiprocessor = on_host::shared_room;
  size_t totalGlobalMem = kPlayedBytes;
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrMpsEnabled };

inline const char* cudaGetErrorName(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchOutOfResources:
      return "cudaErrorLaunchOutOfResources";
    default:
      return "cudaErrorInvalidValue";
  }
}
inline const char* cudaGetErrorString(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    default:
      return "invalid argument";
  }
}
/// What a call says that is not wrong by itself.
inline cudaError_t cudaOutcome() {
  return static_cast<cudaError_t>(on_host::broken_by());
}
inline cudaError_t cudaGetLastError() {
  const int before = std::exchange(on_host::last_error, 0);
  return before != 0 ? static_cast<cudaError_t>(before) : cudaOutcome();
}
inline cudaError_t cudaSetDevice(int gpu) {
  on_host::set_gpu(gpu);
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = kPlayedGpus;
  return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = kPlayedCuda;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) {
  return cudaDriverGetVersion(version);
}
inline cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int gpu) {
  std::snprintf(text, static_cast<size_t>(bytes), "played:%d", gpu);
  return cudaSuccess;
}
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? cudaDeviceProp().multiProcessorCount : 0;
  return cudaSuccess;
}

// Of two streams the one with the lesser number goes first, on a GPU: here it is drawn by lot all the same.
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  *stream = on_host::make_stream(priority);
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
inline cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = stream->priority;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  on_host::end_stream(stream);
  return cudaSuccess;
}
using cudaGraph_t = std::vector<on_host::Work>*;
using cudaGraphExec_t = cudaGraph_t;
enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (!on_host::captures) return cudaErrorStreamCaptureUnsupported;
  return on_host::begin_capture(stream) ? cudaOutcome() : cudaErrorStreamCaptureInvalidated;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = on_host::end_capture(stream);
  return *graph != nullptr ? cudaOutcome() : cudaErrorStreamCaptureInvalidated;
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = stream->captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = new std::vector<on_host::Work>(*graph);
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t made) {
  return cudaGraphDestroy(made);
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t made, cudaStream_t stream) {
  for (const on_host::Work& work : *made) on_host::ask_again(stream, work);
  ++on_host::graph_launches;
  return cudaOutcome();
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream->captured) return cudaErrorStreamCaptureUnsupported;
  ++on_host::stream_synchronizes;
  on_host::wait_for(stream);
  return cudaOutcome();
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (!on_host::let_wait(stream, event)) return cudaErrorInvalidResourceHandle;
  return cudaOutcome();
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = on_host::make_event();
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  on_host::end_event(event);
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  ++on_host::event_records;
  on_host::record(event, stream);
  return cudaOutcome();
}
inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  return on_host::has_been(event) ? cudaOutcome() : cudaErrorNotReady;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ++on_host::event_synchronizes;
  on_host::wait_for(event);
  return cudaOutcome();
}
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  ++on_host::elapsed_times;
  if (!on_host::was_recorded(begin) || !on_host::was_recorded(end)) return cudaErrorInvalidResourceHandle;
  if (!on_host::has_been(begin) || !on_host::has_been(end)) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(1e3 * (on_host::seconds_of(end) - on_host::seconds_of(begin)));
  return cudaSuccess;
}

// Memory begins as NaN: what nobody wrote is seen.
inline cudaError_t cudaMalloc(void** memory, size_t bytes) {
  ++on_host::allocations;
  if (bytes > 0 && bytes == on_host::stuck_bytes) {
    ++on_host::stuck_allocations;
    while (bytes == on_host::stuck_bytes) std::this_thread::yield();
  }
  if (cudaOutcome() != cudaSuccess) return cudaOutcome();
  if (on_host::full_gpu == on_host::own_gpu() && --on_host::allocations_left < 0)
    return cudaErrorMemoryAllocation;
  constexpr size_t kAlignment = 256;
  const size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  *memory = bytes > kPlayedBytes ? nullptr : std::aligned_alloc(kAlignment, whole);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*memory, 0xFF, whole);
  return cudaSuccess;
}
// As a GPU's driver does, it waits for all that the GPU was asked for.
inline cudaError_t cudaFree(void* memory) {
  if (memory != nullptr) on_host::wait_for_gpu();
  std::free(memory);
  return cudaOutcome();
}
inline cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFreeHost(void* memory) {
  return cudaFree(memory);
}
inline cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = 0;
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t stream) {
  ++on_host::copies;
  on_host::ask(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaOutcome();
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (to == nullptr) return cudaErrorInvalidValue;
  if (bytes > 0) on_host::ask(stream, [=] { std::memset(to, value, bytes); });
  return cudaOutcome();
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                     size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch || std::max(to_pitch, from_pitch) > kPlayedPitch)
    return cudaErrorInvalidValue;
  on_host::ask(stream, [=] {
    for (size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                  width);
  });
  return cudaOutcome();
}
struct cudaFuncAttributes {
  int ptxVersion = 90;
};
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel) {
  *attributes = {};
  return cudaOutcome();
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, cudaFuncAttribute, int) {
  return cudaSuccess;
}

inline void __syncthreads() {
  on_host::wait_for_block();
}
inline void __syncwarp() {
  on_host::wait_for_warp();
}
template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return on_host::from_lane(value, static_cast<unsigned>(from));
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return on_host::from_lane(value, on_host::lane() ^ static_cast<unsigned>(mask));
}
inline void __threadfence_system() {}
inline void __threadfence() {}
inline unsigned atomicAdd(unsigned* sum, unsigned value) {
  return std::exchange(*sum, *sum + value);
}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
inline unsigned long long atomicMin(unsigned long long* least, unsigned long long value) {
  const unsigned long long before = *least;
  *least = std::min(before, value);
  return before;
}

inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
using std::fma;

struct uint4 {
  unsigned x, y, z, w;
};
