// The loss lens (paper, section 3) compares two forms of the loss with a cut vocabulary: one gathers the
// logits, the other reduces three numbers per token. Both are the same model; both are really run.
#pragma once

#include <memory>

#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"

namespace shardlens {

/// Returns `settings` of a whole model with the loss in `form`.
Settings with_loss(Settings settings, LossForm form);

/// The planned bytes and peak memory of the loss. Nothing runs.
LossFigures planned_loss(const Plan& plan);

/// Plans both forms of the loss for `plan`'s settings and for the largest vocabulary in the paper. Null
/// unless the plan is of a whole model whose vocabulary is cut over several ranks.
std::shared_ptr<const LossLens> plan_loss_lens(const Plan& plan);

/// Reads the loss in a pass.
class LossReader : public StepObserver {
 public:
  bool wants(const Tensor& tensor) const override { return tensor.keep && tensor.role == Role::Loss; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;
  double loss() const { return loss_; }

 private:
  double loss_ = 0;  ///< of rank 0
};

/// Adds what `executor` has just measured in one pass over `plan` without observers.
void take_measured(LossFigures& figures, const Plan& plan, const Executor& executor);

}  // namespace shardlens
