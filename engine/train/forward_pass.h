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

/// Sums of cross-entropies in nats, and the number of labels that they are over. A mean over many rows is
/// made of such sums: the mean of the passes' means would depend on which rows share a pass.
struct LossSums {
  double nats = 0;
  int64_t tokens = 0;  ///< labelled
  double order_nats = 0;
  int64_t orders = 0;  ///< BERT: rows whose sentences have a label

  LossSums& operator+=(const LossSums& other);
  /// Nats per labelled token; for a BERT plus nats per pair of sentences. 0 without labels.
  double mean() const;
  /// Both terms of a BERT's mean.
  LossParts mean_parts() const;
};

class ForwardPass {
 public:
  /// Plans, checks and loads the model. The batch is run as one part, because without a backward pass no
  /// gradients add up.
  explicit ForwardPass(const Settings& settings);

  const Settings& settings() const { return plan_->program.settings; }

  /// Takes the weights of another executor of the same model.
  void take_weights(const Executor& from, const Program& program);

  /// Runs at most settings().batch rows. Missing rows are filled up and count in no loss. Throws a run Error
  /// that names step and tensor if the loss is no number; after that no pass can be run.
  LossSums run(Batch rows);

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
