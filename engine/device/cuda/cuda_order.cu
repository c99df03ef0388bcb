// Streams wait for each other by events. Events are also converted to times of steady_clock.
#include <limits>
#include <utility>

#include "engine/base/clock.h"
#include "engine/device/cuda/cuda_order.h"
#include "engine/device/cuda/operation.cuh"

namespace shardlens::cuda {

namespace {

constexpr const char* kWhat = "the order of work";
// The clock is set by the shortest of this many round trips to the GPU. Its end is then a few microseconds
// late.
constexpr int kClockTries = 5;

}  // namespace

CudaOrder::CudaOrder(int gpu, cudaStream_t steps, std::function<void()> report_fault)
    : gpu_(gpu), steps_(steps), report_fault_(std::move(report_fault)) {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  try {
    // A collective may wait for other ranks, and they for it. Its blocks go before those of a step that runs
    // at the same time, which could otherwise fill the GPU.
    int least = 0, greatest = 0;
    check(kWhat, "cudaDeviceGetStreamPriorityRange", cudaDeviceGetStreamPriorityRange(&least, &greatest));
    check(kWhat, "cudaStreamCreateWithPriority",
          cudaStreamCreateWithPriority(&collectives_, cudaStreamNonBlocking, greatest));
    check(kWhat, "cudaEventCreateWithFlags", cudaEventCreateWithFlags(&meeting_, cudaEventDisableTiming));
    check(kWhat, "cudaEventCreate", cudaEventCreate(&clock_));
    check(kWhat, "cudaEventCreate", cudaEventCreate(&tried_));
  } catch (...) {
    free_everything();
    throw;
  }
}

CudaOrder::~CudaOrder() {
  free_everything();
}

void CudaOrder::free_everything() noexcept {
  // Errors here were reported before.
  cudaSetDevice(gpu_);
  if (collectives_ != nullptr) cudaStreamSynchronize(collectives_);
  if (kept_ != nullptr) cudaGraphExecDestroy(kept_);
  cudaFreeHost(fetched_);
  for (const cudaEvent_t mark : marks_) cudaEventDestroy(mark);
  if (tried_ != nullptr) cudaEventDestroy(tried_);
  if (clock_ != nullptr) cudaEventDestroy(clock_);
  if (meeting_ != nullptr) cudaEventDestroy(meeting_);
  if (collectives_ != nullptr) cudaStreamDestroy(collectives_);
}

void CudaOrder::wait_in(cudaStream_t waits, cudaStream_t for_what) {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  check(kWhat, "cudaEventRecord", cudaEventRecord(meeting_, for_what));
  check(kWhat, "cudaStreamWaitEvent", cudaStreamWaitEvent(waits, meeting_, 0));
}

void CudaOrder::begin_collective(bool goes_first) {
  wait_in(collectives_, steps_);
  if (goes_first) wait_in(steps_, collectives_);
}

void CudaOrder::join_collectives() {
  wait_in(steps_, collectives_);
}

void CudaOrder::provide_marks(size_t count) {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  marks_.reserve(count);
  while (marks_.size() < count) {
    cudaEvent_t mark = nullptr;
    check(kWhat, "cudaEventCreate", cudaEventCreate(&mark));
    marks_.push_back(mark);
  }
}

void CudaOrder::set_clock() {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  check(kWhat, "cudaStreamSynchronize", cudaStreamSynchronize(collectives_));
  check(kWhat, "cudaStreamSynchronize", cudaStreamSynchronize(steps_));
  double shortest = 0;
  for (int i = 0; i < kClockTries; ++i) {
    const double begin = now_seconds();
    check(kWhat, "cudaEventRecord", cudaEventRecord(tried_, steps_));
    check(kWhat, "cudaEventSynchronize", cudaEventSynchronize(tried_));
    const double end = now_seconds();
    if (i > 0 && end - begin >= shortest) continue;
    shortest = end - begin;
    clock_seconds_ = end;
    std::swap(clock_, tried_);
  }
}

void CudaOrder::mark(size_t slot, WorkOrder order) {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  check(kWhat, "cudaEventRecord",
        cudaEventRecord(marks_.at(slot), order == WorkOrder::Steps ? steps_ : collectives_));
}

void CudaOrder::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(error);
}

void CudaOrder::wait_for_mark(size_t slot) {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  check("earlier work", "cudaEventSynchronize", cudaEventSynchronize(marks_.at(slot)));
  throw_failure();
}

void CudaOrder::throw_failure() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

double CudaOrder::marked_seconds(size_t slot) {
  float milliseconds = 0;
  const cudaError_t status = cudaEventElapsedTime(&milliseconds, clock_, marks_.at(slot));
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // clears it for the next launch
    return std::numeric_limits<double>::infinity();
  }
  check(kWhat, "cudaEventElapsedTime", status);
  return clock_seconds_ + static_cast<double>(milliseconds) * 1e-3;
}

void CudaOrder::provide_fetch(size_t bytes) {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  check(kWhat, "cudaHostAlloc", cudaHostAlloc(&fetched_, bytes, cudaHostAllocDefault));
}

void CudaOrder::fetch(const void* from, size_t bytes) {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  check(kWhat, "cudaMemcpyAsync", cudaMemcpyAsync(fetched_, from, bytes, cudaMemcpyDeviceToHost, steps_));
}

const void* CudaOrder::fetched() {
  throw_failure();
  report_fault_();
  return fetched_;
}

// The mode is relaxed, because cuBLASLt and the trials of algorithms call CUDA too. What ends a capture as
// useless is no failure of the run: the caller then asks without one, and a real failure comes again.
bool CudaOrder::capture(const std::function<void()>& ask) {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  if (cudaStreamBeginCapture(steps_, cudaStreamCaptureModeRelaxed) != cudaSuccess) {
    cudaGetLastError();  // clears the error for the next launch
    return false;
  }
  bool complete = true;
  try {
    ask();
  } catch (const std::exception&) {
    complete = false;
  }
  cudaGraph_t graph = nullptr;
  complete = cudaStreamEndCapture(steps_, &graph) == cudaSuccess && complete;
  cudaGraphExec_t made = nullptr;
  if (complete) complete = cudaGraphInstantiate(&made, graph, 0) == cudaSuccess;
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();  // clears the error for the next launch
  if (!complete) return false;
  if (kept_ != nullptr) cudaGraphExecDestroy(kept_);
  kept_ = made;
  return true;
}

void CudaOrder::replay() {
  check(kWhat, "cudaSetDevice", cudaSetDevice(gpu_));
  check(kWhat, "cudaGraphLaunch", cudaGraphLaunch(kept_, steps_));
}

}  // namespace shardlens::cuda
