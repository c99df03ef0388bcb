// The whole model's forward and backward pass, with updates or without, and its results under the names other
// implementations use: the contract by which they are compared with ours (`step` on the command line).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/runtime/batch.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// A full tensor as a dump holds it.
struct DumpTensor {
  DType dtype = DType::Fp32;
  Shape shape;
  std::vector<std::byte> bytes;  ///< row-major
};

struct ModelStepRequest {
  std::shared_ptr<const Batch> batch;  ///< null: seeded_batch(). Fewer rows than the plan's are filled up
  int updates = 0;                     ///< optimizer steps on the same batch; 0: one pass without one
  double learning_rate = 0;
  bool dump = false;
  /// Called before the first pass: who else sees its tensors and the later ones'; null: nobody.
  std::function<std::shared_ptr<StepObserver>(const Executor&)> observer;
  /// Called after each pass, while the ranks stand still, with what is known of it.
  std::function<void(const Executor&, double loss)> after_pass;
  std::stop_token stop;  ///< asked: the run is given up and a Cancelled Error thrown
};

struct ModelStepResult {
  std::vector<double> losses;             ///< of each pass
  std::vector<double> gradient_norms;     ///< of each pass with an update, before clipping
  double pass_seconds = 0;                ///< of the last pass, slowest rank
  std::vector<double> attention_seconds;  ///< per rank, of the last pass
  std::vector<int64_t> high_water_bytes;  ///< per rank
  CommunicatorInfo communicator;
  /// Of the request's own rows: loss [1], losses [N], logits [B, S, V] without padding, hidden [B, S, C],
  /// sop_logits [B, 2] (BERT), grad.<name> of the last backward pass before clipping and, after updates,
  /// param.<name>, under Hugging Face's names and in its orientation.
  std::map<std::string, DumpTensor> dump;
};

/// Runs `plan`, which is of a whole model, and has settings.update set when request.updates > 0. Throws what
/// the plan or the run throws.
ModelStepResult run_model_step(const std::shared_ptr<const Plan>& plan, const ModelStepRequest& request);

}  // namespace shardlens
