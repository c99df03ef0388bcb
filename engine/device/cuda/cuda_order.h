// The two orders of work of one GPU device: a stream for the steps, and one for overlapped collectives, which
// has the higher priority. Events note the times of marks in both. What is fetched with a pass comes into a
// block of pinned memory that is kept, by a copy for which the host does not wait.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/device/work_behind.h"

namespace shardlens::cuda {

class CudaOrder final : public WorkBehind {
 public:
  /// `steps` is the stream of the steps on GPU `gpu`. It must outlive this object. `report_fault` throws if a
  /// kernel found wrong numbers.
  CudaOrder(int gpu, cudaStream_t steps, std::function<void()> report_fault);
  ~CudaOrder() override;
  CudaOrder(const CudaOrder&) = delete;
  CudaOrder& operator=(const CudaOrder&) = delete;

  cudaStream_t collectives() const { return collectives_; }
  /// From now on, waits for marks and copies to the host throw `error`, or the first one if there were
  /// several. A collective was aborted, and its results and all later ones must not be used. Any thread may
  /// call this.
  void fail(std::exception_ptr error);
  void throw_failure();  ///< throws the error of fail(), if there was one

  void begin_collective(bool goes_first = false) override;
  void join_collectives() override;
  void provide_marks(size_t count) override;
  void set_clock() override;
  void mark(size_t slot, WorkOrder order) override;
  void wait_for_mark(size_t slot) override;
  double marked_seconds(size_t slot) override;
  void provide_fetch(size_t bytes) override;
  void fetch(const void* from, size_t bytes) override;
  const void* fetched() override;
  bool capture(const std::function<void()>& ask) override;
  void replay() override;

 private:
  void wait_in(cudaStream_t waits, cudaStream_t for_what);
  void free_everything() noexcept;

  const int gpu_;
  const cudaStream_t steps_;
  const std::function<void()> report_fault_;
  cudaStream_t collectives_ = nullptr;
  cudaEvent_t meeting_ = nullptr;  ///< one order waits for the other at it
  cudaEvent_t clock_ = nullptr;    ///< marks are measured from it
  cudaEvent_t tried_ = nullptr;    ///< takes its place if its round trip was shorter
  std::atomic<double> clock_seconds_ = 0;
  std::vector<cudaEvent_t> marks_;
  void* fetched_ = nullptr;         ///< pinned
  cudaGraphExec_t kept_ = nullptr;  ///< the work of capture(); null: none
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace shardlens::cuda
