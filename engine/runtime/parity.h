// Checks that the sharded run equals the serial run; every result of the engine depends on this check. A
// ParityCheck observes the sharded run and compares what each rank of each replica holds, at its place in the
// full tensor, with the serial run's value of the same name. The rows that a replica holds of a tensor are a
// window of the serial run's tensor (serial_place.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/observer.h"
#include "engine/runtime/serial_place.h"
#include "engine/runtime/serial_reference.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// The largest allowed relative_error: 0 with integer operands, else 5e-15 in fp64, 3e-6 in fp32 and eight
/// unit roundings of a 16-bit format or of TF32. A ParityCheck has this bound for every tensor but one kind:
/// if each rank sees only its own tokens, the gradients of biases, γ and β are sums of fractions over the
/// ranks, and have the format's bound with integer operands too.
double parity_bound(const Settings& settings);

class ParityCheck : public StepObserver {
 public:
  /// `pictures`: also keeps a picture of the difference, for the Inspector.
  ParityCheck(const Program& program, std::shared_ptr<const SerialReference> serial, bool pictures);
  /// Each replica has its own right values, [replica]: those of a sound run of the same settings. What is the
  /// same on all replicas may be missing in all but the first.
  ParityCheck(const Program& program, std::vector<std::shared_ptr<const SerialReference>> right,
              bool pictures);
  ~ParityCheck() override;

  bool wants(const Tensor& tensor) const override { return comparisons_.count(tensor.id) > 0; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;
  void on_replica_tensor(int replica, int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// The results by TensorId, after the run; null for what was not compared (coverage.h). A tensor counts as
  /// compared once every rank of every replica has shown it.
  ParityTable results() const;

 private:
  struct Comparison;  ///< one tensor's sums so far, and what its error is relative to

  ParityCheck(const Program& program, std::vector<std::shared_ptr<const SerialReference>> references,
              bool of_each_replica, bool pictures);
  std::vector<const void*> right_elements(const Tensor& tensor, OnReplicas of) const;
  void take_piece(Comparison& comparison, const Tensor& tensor, int replica, int rank, const void* data);
  void add_term(Comparison& comparison, const Tensor& tensor, int replica, int rank, const void* data);

  const Program& program_;
  std::vector<std::shared_ptr<const SerialReference>> references_;  ///< [replica], or one for all
  bool of_each_replica_;
  int64_t picture_extent_;  ///< 0: none
  std::map<TensorId, std::unique_ptr<Comparison>> comparisons_;
};

/// The serial run keeps every value that it computes, beside its own arenas and those of the sharded run. If
/// that needs too much of the machine's memory, the run is not compared. Returns why, or an empty text if
/// there is room.
std::string why_not_comparable(const Plan& plan, const Plan& serial);

/// Returns what was compared, the worst tensor and, in step order, the first broken one.
ParitySummary summarise(const Program& program, const ParityTable& parity);

}  // namespace shardlens
