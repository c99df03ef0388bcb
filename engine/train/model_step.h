// Runs the whole model's forward and backward pass, with or without updates. Its results have the names that
// other implementations use, so that they can be compared with ours (`step` on the command line).
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/base/job.h"
#include "engine/runtime/batch.h"
#include "engine/runtime/dump.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

struct ModelStepRequest {
  std::shared_ptr<const Batch> batch;  ///< null: seeded_batch(). Missing rows are filled up
  int updates = 0;  ///< optimizer steps on the same batch; 0: one pass without the optimizer
  double learning_rate = 0;
  bool dump = false;
  /// Called before the first pass. Returns another observer of the tensors of all passes; null: none.
  std::function<std::shared_ptr<StepObserver>(const Executor&)> observer;
  /// Called after each pass while the ranks are idle, with the pass's loss.
  std::function<void(const Executor&, double loss)> after_pass;
  std::stop_token stop;  ///< if requested: the run is stopped and a Cancelled Error is thrown
};

struct ModelStepResult {
  std::vector<double> losses;          ///< for each pass
  std::vector<double> gradient_norms;  ///< for each pass with an update, before clipping
  std::vector<bool> skipped;  ///< for each pass: a gradient overflowed under the loss scale, and the norm is
                              ///< no number; nothing was updated
  double pass_seconds = 0;    ///< of the last pass, slowest rank
  std::vector<double> attention_seconds;  ///< per rank, of the last pass
  std::vector<int64_t> high_water_bytes;  ///< per rank
  CommunicatorInfo communicator;
  /// For the request's own rows: loss [1], losses [N], logits [B, S, V] without padding, hidden [B, S, C],
  /// sop_logits [B, 2] (BERT), grad.<name> of the last backward pass before clipping and, after updates,
  /// param.<name>. The names and the orientation are Hugging Face's.
  Dump dump;
};

/// Runs `plan`, which must be of a whole model, with settings.update set if request.updates > 0. Throws what
/// the plan or the run throws, and a run Error that names step and tensor if a result is no number and no
/// smaller loss scale would help.
ModelStepResult run_model_step(const std::shared_ptr<const Plan>& plan, const ModelStepRequest& request);
/// The same in pieces.
Job<ModelStepResult> model_step_in_pieces(std::shared_ptr<const Plan> plan, ModelStepRequest request);

}  // namespace shardlens
