// Sharded equals serial: the check the whole house stands on. The serial run leaves every
// value it computed in a SerialReference; a ParityCheck watches the sharded run and compares each rank's
// piece, at its place in the full tensor, with what the serial run has under the same name.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/runtime/observer.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// All values of a run on one rank, by Tensor::value. Also the observer that collects them.
class SerialReference : public StepObserver {
 public:
  bool wants(const Tensor& tensor) const override { return tensor.kind != MemoryKind::Workspace; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// The whole tensor, row-major, or null when the serial run has no such value.
  const std::vector<std::byte>* find(const std::string& value) const;

 private:
  std::map<std::string, std::vector<std::byte>> values_;
};

/// What relative_error may be (relative to the serial tensor, or for labels' logits to as many average ones
/// if they are larger): 0 with integer operands, else 5e-15 in fp64, 3e-6 in fp32 and eight unit roundings of
/// a 16-bit format, or of TF32.
double parity_bound(const Settings& settings);

class ParityCheck : public StepObserver {
 public:
  /// `pictures`: also keep a picture of the difference, for the Inspector.
  ParityCheck(const Program& program, std::shared_ptr<const SerialReference> serial, bool pictures);

  bool wants(const Tensor& tensor) const override { return comparisons_.count(tensor.id) > 0; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// Per TensorId, once the run is over; not compared: workspace, and tensors not all ranks have shown.
  std::vector<std::shared_ptr<const TensorParity>> results() const;

 private:
  struct Comparison;  ///< one tensor's sums so far

  void compare_piece(Comparison& comparison, const Tensor& tensor, int rank, const void* data);
  void add_term(Comparison& comparison, const Tensor& tensor, int rank, const void* data);

  const Program& program_;
  std::shared_ptr<const SerialReference> serial_;
  int64_t picture_extent_;  ///< 0: none
  mutable std::mutex mutex_;
  std::map<TensorId, std::unique_ptr<Comparison>> comparisons_;

 public:
  ~ParityCheck() override;
};

/// The serial run keeps every value it computes, beside its own arenas and the sharded run's. Where that
/// would crowd the machine a run goes without a comparison: why, or nothing when there is room.
std::string why_not_comparable(const Plan& plan, const Plan& serial);

/// The worst and the first broken tensor, in step order.
ParitySummary summarise(const Program& program,
                        const std::vector<std::shared_ptr<const TensorParity>>& parity);

}  // namespace shardlens
