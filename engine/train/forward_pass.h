// A forward pass over any number of rows: what evaluation asks of a model. Sharded like everything else.
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
  /// Plans, checks and loads. Parts of the batch are left aside: without a backward pass nothing adds up.
  explicit ForwardPass(const Settings& settings);

  const Settings& settings() const { return plan_->program.settings; }

  /// Runs at most settings().batch rows; the rest of the batch counts in no loss.
  void run(Batch rows);

  double loss() const;
  std::optional<LossParts> parts() const { return read_loss_parts(*executor_, plan_->program); }
  /// Whether label `place` of the batch, counted row by row, is the likeliest one. `module` names the loss:
  /// "loss", "loss.words" or "loss.sentences".
  bool likeliest(const std::string& module, int64_t place) const;

 private:
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<Gather> largest_and_target_;
  std::unique_ptr<Executor> executor_;
  TensorId loss_ = kNoTensor;
};

}  // namespace shardlens
