// A sharded forward pass over rows, which evaluation uses.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/runtime/batch.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/gather.h"
#include "engine/train/loss_parts.h"

namespace shardlens {

class ForwardPass {
 public:
  /// Plans, checks and loads the model. The batch is run as one part, because without a backward pass no
  /// gradients add up.
  explicit ForwardPass(const Settings& settings);

  const Settings& settings() const { return plan_->program.settings; }

  /// Runs at most settings().batch rows. Missing rows are filled up and count in no loss.
  void run(Batch rows);

  double loss() const;
  std::optional<LossParts> parts() const { return read_loss_parts(*executor_, plan_->program); }
  /// True if label `place` of the batch, counted row by row, is the likeliest one. `module` names the loss:
  /// "loss", "loss.words" or "loss.sentences".
  bool likeliest(const std::string& module, int64_t place) const;

 private:
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<Gather> largest_and_target_;
  std::unique_ptr<Executor> executor_;
  TensorId loss_ = kNoTensor;
};

}  // namespace shardlens
