// Measures how large the gradients are in each layer, which a training curve alone does not show. The
// observer takes the square sums of each rank's own slices when the last step that writes a gradient is done,
// so nothing is gathered. A gradient that several ranks hold is counted once.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/observer.h"

namespace shardlens {

/// The groups of parameters: "embedding", "layer 0", …, "head". A parameter belongs to the group in which it
/// is first used.
std::vector<std::string> gradient_groups(const Program& program);

class GradientNorms : public StepObserver {
 public:
  /// For a Program with an optimizer. Another Program has no parameters to follow.
  explicit GradientNorms(const Program& program);

  bool wants(const Tensor& tensor) const override { return group_of_[static_cast<size_t>(tensor.id)] >= 0; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// gradient_groups() of the Program.
  const std::vector<std::string>& groups() const { return groups_; }
  /// The Euclidean norm of each group's gradients in the last pass, before clipping. Call while the ranks are
  /// idle.
  std::vector<double> norms() const;

 private:
  int ranks_;
  std::vector<std::string> groups_;
  std::vector<int> group_of_;  ///< [tensor]: the group of a gradient that the optimizer reads, or -1
  std::vector<std::vector<double>> square_sums_;  ///< [rank][tensor]: a rank writes only its own row
};

}  // namespace shardlens
