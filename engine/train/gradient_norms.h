// How large the gradients are, layer by layer: what a training curve alone does not tell. The observer takes
// the square sums of the ranks' own slices when the last step that writes a gradient is done, so nothing is
// gathered; what all ranks hold alike is counted once.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/observer.h"

namespace shardlens {

/// "embedding", "layer 0", …, "head": where a parameter of the Program is first used.
std::vector<std::string> gradient_groups(const Program& program);

class GradientNorms : public StepObserver {
 public:
  /// Of a Program with an optimizer; another has no parameters to follow.
  explicit GradientNorms(const Program& program);

  bool wants(const Tensor& tensor) const override { return group_of_[static_cast<size_t>(tensor.id)] >= 0; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;

  /// gradient_groups() of the Program.
  const std::vector<std::string>& groups() const { return groups_; }
  /// Euclidean norm of each group's gradients in the last pass, before clipping. Call while the ranks are
  /// idle.
  std::vector<double> norms() const;

 private:
  int ranks_;
  std::vector<std::string> groups_;
  std::vector<int> group_of_;                     ///< [tensor]: of the gradient the optimizer reads, or -1
  std::vector<std::vector<double>> square_sums_;  ///< [rank][tensor]: a rank writes its own row only
};

}  // namespace shardlens
