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

/// True for tensors that a broken run is compared in.
bool is_compared(const Tensor& tensor);

/// Collects a pass of the sound Program: whole tensors and, of a Partial one, every rank's own term.
class RightValues : public StepObserver {
 public:
  explicit RightValues(const Program& program) : program_(program), whole_(program.tp(), is_compared) {}

  bool wants(const Tensor& tensor) const override { return is_compared(tensor); }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// Call it after the pass, before the next two.
  void finish();
  /// The whole tensors, by Tensor::value.
  const std::shared_ptr<const SerialReference>& whole() const { return values_; }
  /// A rank's own term of the Partial tensor of this name; null if the sound Program has no such tensor.
  const std::vector<std::byte>* term(const std::string& name, int rank) const;

 private:
  const Program& program_;
  Gather whole_;
  std::shared_ptr<const SerialReference> values_;
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::vector<std::byte>> terms_;
};

/// Observes a pass of the broken Program. It samples what each rank holds minus what is right there: for a
/// Partial tensor the rank's own term of the sound run, for any other the whole tensor's part at the same
/// place. A tensor that the sound run does not have in this form has no sample.
class Differences : public StepObserver {
 public:
  Differences(const Program& broken, std::shared_ptr<const RightValues> right, const SamplePlan& plan);

  bool wants(const Tensor& tensor) const override { return is_compared(tensor); }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  SampleTable samples() const { return sampler_.samples(); }

 private:
  int ranks_;
  std::shared_ptr<const RightValues> right_;
  Sampler sampler_;
};

}  // namespace shardlens
