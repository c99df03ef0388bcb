// All of the CUDA device that is not an operation: its name, its memory, its waits, and what it allocates
// once.
#include <cstring>
#include <vector>

#include "engine/device/cuda/cuda_order.h"
#include "engine/device/cuda/operation.cuh"
#include "engine/device/cuda/products.h"

namespace shardlens {

std::unique_ptr<Device> make_cuda_device(int gpu, const CudaOptions& options) {
  return std::make_unique<cuda::CudaDevice>(gpu, options);
}

namespace cuda {

CudaDevice::CudaDevice(int gpu, const CudaOptions& options) : gpu_(gpu) {
  const std::string what = "GPU " + std::to_string(gpu);
  check(what, "cudaSetDevice", cudaSetDevice(gpu));
  cudaDeviceProp properties{};
  check(what, "cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, gpu));
  multiprocessors_ = properties.multiProcessorCount;
  shared_room_ = static_cast<int64_t>(properties.sharedMemPerMultiprocessor);
  name_ = "cuda:" + std::to_string(gpu) + ", " + properties.name;
  try {
    check(what, "cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    constexpr size_t kTicketBytes = kTickets * sizeof(unsigned);
    check(what, "cudaMalloc", cudaMalloc(&scratch_, kScratchBytes + kTicketBytes));
    tickets_ = reinterpret_cast<unsigned*>(static_cast<char*>(scratch_) + kScratchBytes);
    check(what, "cudaMemsetAsync", cudaMemsetAsync(tickets_, 0, kTicketBytes, stream_));
    void* fault = nullptr;
    check(what, "cudaHostAlloc", cudaHostAlloc(&fault, sizeof(Fault), cudaHostAllocMapped));
    fault_ = new (fault) Fault;
    check(what, "cudaHostAlloc", cudaHostAlloc(&pinned_, kPinnedBytes, cudaHostAllocDefault));
    check(what, "cudaEventCreateWithFlags", cudaEventCreateWithFlags(&pinned_free_, cudaEventDisableTiming));
    products_ = std::make_unique<Products>(options.tf32, multiprocessors_);
    order_ = std::make_unique<CudaOrder>(gpu, stream_, [this] { report_fault(); });
  } catch (...) {
    free_everything();
    throw;
  }
}

CudaDevice::~CudaDevice() {
  free_everything();
}

void CudaDevice::free_everything() noexcept {
  // Errors here were reported before.
  cudaSetDevice(gpu_);
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  order_.reset();
  products_.reset();
  cudaFree(scratch_);
  cudaFreeHost(fault_);
  cudaFreeHost(pinned_);
  if (pinned_free_ != nullptr) cudaEventDestroy(pinned_free_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

std::string CudaDevice::name() const {
  return name_;
}

void* CudaDevice::allocate(size_t bytes) {
  check("an allocation", "cudaSetDevice", cudaSetDevice(gpu_));
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes == 0 ? 1 : bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clears the error for the next launch
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw run_error(name_ + " could not allocate " + std::to_string(bytes) + " bytes by cudaMalloc, " +
                    std::to_string(free) + " of " + std::to_string(total) +
                    " are free: choose a smaller batch, sequence or model, or a larger T");
  }
  check("an allocation of " + std::to_string(bytes) + " bytes", "cudaMalloc", status);
  return memory;
}

void CudaDevice::release(void* memory) noexcept {
  cudaSetDevice(gpu_);
  cudaFree(memory);
}

// Called also before a copy of memory that is not pinned. Without it CUDA would wait in the copy and block
// other threads that call CUDA: for ever, if the copy waits for work that one of them must ask for. A small
// copy goes through pinned memory instead, and the streams wait, not the host.
void CudaDevice::wait_for_both_orders(const Operation& operation) {
  operation.check("cudaStreamSynchronize", cudaStreamSynchronize(order_->collectives()));
  operation.check("cudaStreamSynchronize", cudaStreamSynchronize(operation.stream()));
}

void CudaDevice::copy_to_device(void* to, const void* from_host, size_t bytes) {
  if (bytes == 0) return;
  const Operation operation(*this, "a copy to the GPU");
  if (bytes <= kPinnedBytes) return copy_small_to_device(operation, to, from_host, bytes);
  wait_for_both_orders(operation);
  operation.check("cudaMemcpyAsync",
                  cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, operation.stream()));
  synchronize();
}

void CudaDevice::set_zero(void* to, size_t bytes) {
  if (bytes == 0) return;
  const Operation operation(*this, "setting memory to zero");
  operation.check("cudaMemsetAsync", cudaMemsetAsync(to, 0, bytes, operation.stream()));
}

void CudaDevice::copy_to_host(void* to_host, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const Operation operation(*this, "a copy from the GPU");
  if (bytes <= kPinnedBytes) return copy_small_to_host(operation, to_host, from, bytes);
  wait_for_both_orders(operation);
  operation.check("cudaMemcpyAsync",
                  cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost, operation.stream()));
  synchronize();
}

// Waits only for the copy before it, which has the pinned memory.
void CudaDevice::copy_small_to_device(const Operation& operation, void* to, const void* from_host,
                                      size_t bytes) {
  order_->join_collectives();
  operation.check("cudaEventSynchronize", cudaEventSynchronize(pinned_free_));
  std::memcpy(pinned_, from_host, bytes);
  operation.check("cudaMemcpyAsync",
                  cudaMemcpyAsync(to, pinned_, bytes, cudaMemcpyHostToDevice, operation.stream()));
  operation.check("cudaEventRecord", cudaEventRecord(pinned_free_, operation.stream()));
}

void CudaDevice::copy_small_to_host(const Operation& operation, void* to_host, const void* from,
                                    size_t bytes) {
  order_->join_collectives();
  operation.check("cudaMemcpyAsync",
                  cudaMemcpyAsync(pinned_, from, bytes, cudaMemcpyDeviceToHost, operation.stream()));
  operation.check("cudaStreamSynchronize", cudaStreamSynchronize(operation.stream()));
  order_->throw_failure();
  report_fault();
  std::memcpy(to_host, pinned_, bytes);
}

WorkBehind* CudaDevice::behind() {
  return order_.get();
}

void CudaDevice::synchronize() {
  const Operation operation(*this, "waiting");
  wait_for_both_orders(operation);
  order_->throw_failure();  // a collective that was aborted has left incomplete results
  report_fault();
}

void CudaDevice::report_fault() {
  if (fault_->found == 0) return;
  // Rebuilds the positions with the one that was found wrong, so that the shape's own check throws its error.
  std::vector<int32_t> positions(static_cast<size_t>(fault_->seq));
  for (size_t i = 0; i < positions.size(); ++i)
    positions[i] = static_cast<int32_t>(fault_->first + static_cast<int64_t>(i));
  positions[static_cast<size_t>(fault_->index)] = static_cast<int32_t>(fault_->position);
  CacheShape shape;
  shape.batch = 1;
  shape.seq = fault_->seq;
  shape.room = fault_->room;
  shape.positions = positions.data();
  fault_->found = 0;
  shape.first_position(0);
}

}  // namespace cuda

}  // namespace shardlens
