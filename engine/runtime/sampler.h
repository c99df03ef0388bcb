// The observer that makes the studio's pictures: one TensorSample for each rank and tensor. It also stops the
// run at the first value that is NaN or infinite.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/record/sample.h"
#include "engine/runtime/observer.h"

namespace shardlens {

class Sampler : public StepObserver {
 public:
  /// What happens at a NaN or an infinity: under a loss scale an overflow is no failure.
  enum class NotFinite { StopsTheRun, IsCounted };

  explicit Sampler(const Program& program, NotFinite not_finite = NotFinite::StopsTheRun);
  /// Takes the samples that `plan` lists.
  Sampler(const Program& program, SamplePlan plan, NotFinite not_finite);

  bool wants(const Tensor& tensor) const override { return tensor.kind != MemoryKind::Workspace; }
  /// Samples the tensor. If it holds NaN or infinity and that stops the run, throws a run Error that names
  /// the tensor; the executor adds rank and step.
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// The samples so far; null where there is none yet. Any thread.
  SampleTable samples() const;

  /// What is kept of each tensor.
  const SamplePlan& plan() const { return plan_; }

 private:
  std::shared_ptr<const TensorSample> one_like(size_t id, const TensorSample& sample) const;

  int ranks_;
  NotFinite not_finite_;
  SamplePlan plan_;
  std::array<std::mutex, 16> turns_;  ///< for ranks that hold the same bits; several tensors share one
  mutable std::mutex mutex_;
  SampleTable samples_;
};

/// Only the check for NaN and infinity, on all replicas, for runs that need no pictures.
class FiniteCheck : public StepObserver {
 public:
  explicit FiniteCheck(int ranks) : ranks_(ranks) {}
  bool wants(const Tensor& tensor) const override {
    return tensor.kind != MemoryKind::Workspace && tensor.dtype != DType::Int32;
  }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;
  void on_replica_tensor(int replica, int rank, StepId step, const Tensor& tensor, const void* data) override;

 private:
  int ranks_;
};

}  // namespace shardlens
