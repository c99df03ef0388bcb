// The two orders of work of one GPU device: a stream for the steps and one for the collectives beside them,
// which has the greater priority, and events that say when each of them came to a mark.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "engine/device/work_behind.h"

namespace shardlens::cuda {

class CudaOrder final : public WorkBehind {
 public:
  /// Beside the stream `steps` of GPU `gpu`, which outlives this.
  CudaOrder(int gpu, cudaStream_t steps);
  ~CudaOrder() override;
  CudaOrder(const CudaOrder&) = delete;
  CudaOrder& operator=(const CudaOrder&) = delete;

  cudaStream_t collectives() const { return collectives_; }
  /// From now on marks, and copies to the host, throw `error`, the first there was: a collective was given
  /// up, and what it and all after it made is not to be used. Any thread.
  void fail(std::exception_ptr error);
  void throw_failure();  ///< what fail() was given, if it was

  void begin_collective() override;
  void join_collectives() override;
  void provide_marks(size_t count) override;
  void set_clock() override;
  void mark(size_t slot, WorkOrder order) override;
  void wait_for_mark(size_t slot) override;
  double marked_seconds(size_t slot) override;

 private:
  void wait_in(cudaStream_t waits, cudaStream_t for_what);
  void free_everything() noexcept;

  const int gpu_;
  const cudaStream_t steps_;
  cudaStream_t collectives_ = nullptr;
  cudaEvent_t meeting_ = nullptr;  ///< where one order waits for the other
  cudaEvent_t clock_ = nullptr;    ///< what marks are measured from
  std::atomic<double> clock_seconds_ = 0;
  std::vector<cudaEvent_t> marks_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace shardlens::cuda
