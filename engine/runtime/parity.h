// Checks that the sharded run equals the serial run; every result of the engine depends on this check. The
// serial run leaves every value that it computed in a SerialReference. A ParityCheck observes the sharded run
// and compares each rank's slice, at its place in the full tensor, with the serial run's value of the same
// name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/observer.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// A whole tensor of a run on one rank, row-major.
struct SerialValue {
  DType dtype = DType::Fp32;
  std::vector<std::byte> bytes;
  int64_t count = 0;  ///< elements
  double rms = 0;     ///< root mean square of the elements
};

/// All values of a run on one rank, by Tensor::value. It is also the observer that collects them.
class SerialReference : public StepObserver {
 public:
  bool wants(const Tensor& tensor) const override { return tensor.kind != MemoryKind::Workspace; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// Null if the serial run has no such value.
  const SerialValue* value(const std::string& name) const;
  const std::vector<std::byte>* find(const std::string& name) const;
  /// The elements of a value; empty if the serial run has no such value.
  std::vector<double> numbers(const std::string& name) const;

 private:
  std::map<std::string, SerialValue> values_;
};

/// The largest allowed relative_error: 0 with integer operands, else 5e-15 in fp64, 3e-6 in fp32 and eight
/// unit roundings of a 16-bit format or of TF32. A ParityCheck has this bound for every tensor but one kind:
/// if each rank sees only its own tokens, the gradients of biases, γ and β are sums of fractions over the
/// ranks, and have the format's bound with integer operands too.
double parity_bound(const Settings& settings);

class ParityCheck : public StepObserver {
 public:
  /// `pictures`: also keeps a picture of the difference, for the Inspector.
  ParityCheck(const Program& program, std::shared_ptr<const SerialReference> serial, bool pictures);
  ~ParityCheck() override;

  bool wants(const Tensor& tensor) const override { return comparisons_.count(tensor.id) > 0; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// The results by TensorId, after the run. Workspace, and tensors that not all ranks have shown, are not
  /// compared.
  std::vector<std::shared_ptr<const TensorParity>> results() const;

 private:
  struct Comparison;  ///< one tensor's sums so far, and what its error is relative to

  void compare_piece(Comparison& comparison, const Tensor& tensor, int rank, const void* data);
  void add_term(Comparison& comparison, const Tensor& tensor, int rank, const void* data);

  const Program& program_;
  std::shared_ptr<const SerialReference> serial_;
  int64_t picture_extent_;  ///< 0: none
  std::map<TensorId, std::unique_ptr<Comparison>> comparisons_;
};

/// The serial run keeps every value that it computes, beside its own arenas and those of the sharded run. If
/// that needs too much of the machine's memory, the run is not compared. Returns why, or an empty text if
/// there is room.
std::string why_not_comparable(const Plan& plan, const Plan& serial);

/// Returns the worst tensor and, in step order, the first broken one.
ParitySummary summarise(const Program& program,
                        const std::vector<std::shared_ptr<const TensorParity>>& parity);

}  // namespace shardlens
