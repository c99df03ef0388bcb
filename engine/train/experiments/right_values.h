// The values that a broken run should have: those of the sound run's pass. And the observer that keeps how
// far each rank of the broken run is from them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/runtime/gather.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/sampler.h"

namespace shardlens {

/// True for tensors whose right values are kept. Of maxima over the ranks' columns those over all columns
/// are.
bool is_kept(const Tensor& tensor);

/// Collects a pass of the sound Program: each replica's whole tensors and, of a Partial one, every rank's own
/// term on the first replica.
class RightValues : public StepObserver {
 public:
  explicit RightValues(const Program& program)
      : program_(program), replicas_(on_replicas(program)), whole_(program.tp(), is_kept) {}

  bool wants(const Tensor& tensor) const override { return is_kept(tensor); }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;
  void on_replica_tensor(int replica, int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// Call it after the pass, before the next two.
  void finish();
  /// [replica]: its whole tensors, by Tensor::value. What all replicas have alike only the first one has.
  const std::vector<std::shared_ptr<const SerialReference>>& of_replicas() const { return values_; }
  /// A rank's own term, on the first replica, of the Partial tensor of this name; null if the sound Program
  /// has no such tensor.
  const std::vector<std::byte>* term(const std::string& name, int rank) const;

 private:
  const Program& program_;
  std::vector<OnReplicas> replicas_;
  Gather whole_;
  std::vector<std::shared_ptr<const SerialReference>> values_;
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::vector<std::byte>> terms_;
};

/// Observes a pass of the broken Program on the first replica. It samples what each rank holds minus what is
/// right there: for a Partial tensor the rank's own term of the sound run, for any other the whole tensor's
/// part at the same place. A tensor that the sound run does not have in this form has no sample.
class Differences : public StepObserver {
 public:
  Differences(const Program& broken, std::shared_ptr<const RightValues> right, const SamplePlan& plan);

  bool wants(const Tensor& tensor) const override { return is_kept(tensor) && tensor.dtype != DType::Int32; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  SampleTable samples() const { return sampler_.samples(); }

 private:
  int ranks_;
  std::shared_ptr<const RightValues> right_;
  Sampler sampler_;
};

}  // namespace shardlens
