// The loss lens (paper, section 3): what a cut vocabulary costs when the logits are gathered for the loss,
// and what it costs when three numbers a token are reduced instead. Both are the same model; both are really
// run.
#pragma once

#include <memory>

#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"

namespace shardlens {

/// `settings` of a whole model with its loss in `form`.
Settings with_loss(Settings settings, LossForm form);

/// What the plan says of its loss: bytes and peak memory. Nothing runs.
LossFigures planned_loss(const Plan& plan);

/// Both forms of `plan`'s settings planned, and of the largest vocabulary in the paper. Null unless the plan
/// is a whole model's whose vocabulary is cut over several ranks.
std::shared_ptr<const LossLens> plan_loss_lens(const Plan& plan);

/// Reads the loss out of a pass.
class LossReader : public StepObserver {
 public:
  bool wants(const Tensor& tensor) const override { return tensor.name == "loss"; }
  void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override;
  double loss() const { return loss_; }

 private:
  double loss_ = 0;  ///< rank 0's
};

/// Adds what `executor` has just measured in one unobserved pass over `plan`.
void take_measured(LossFigures& figures, const Plan& plan, const Executor& executor);

}  // namespace shardlens
