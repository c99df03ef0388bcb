// The observer that makes the studio's pictures: one TensorSample per rank and tensor, and a guard that stops
// the run at the first value that is not a number.
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
  /// What a value that is not a number does: an overflow under a loss scale is no failure.
  enum class NotFinite { StopsTheRun, IsCounted };

  explicit Sampler(const Program& program, NotFinite not_finite = NotFinite::StopsTheRun);
  /// Samples as `plan` says.
  Sampler(const Program& program, SamplePlan plan, NotFinite not_finite);

  bool wants(const Tensor& tensor) const override { return tensor.kind != MemoryKind::Workspace; }
  /// Samples the tensor. Throws a run Error naming it when it holds NaN or infinity and that stops the run:
  /// the executor adds rank and step.
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// What has been sampled so far; null where not yet. Any thread.
  SampleTable samples() const;

  /// What is kept of each tensor.
  const SamplePlan& plan() const { return plan_; }

 private:
  std::shared_ptr<const TensorSample> one_like(size_t id, const TensorSample& sample) const;

  int ranks_;
  NotFinite not_finite_;
  SamplePlan plan_;
  std::array<std::mutex, 16> turns_;  ///< of ranks that hold the same; by tensor, several share one
  mutable std::mutex mutex_;
  SampleTable samples_;
};

/// The guard alone, of all replicas, for runs that need no pictures.
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
