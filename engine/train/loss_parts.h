// The two terms of BERT's loss: one for the masked words and one for the order of the sentences. The model
// learns them at different speeds, so both are shown.
#pragma once

#include <optional>

#include "engine/runtime/executor.h"

namespace shardlens {

struct LossParts {
  double words = 0;      ///< nats per masked token
  double sentences = 0;  ///< nats per pair of sentences
};

/// The two terms of the pass that `executor` has finished, over all replicas and all parts of the batch. None
/// for a model with only one loss. Call while the executor is idle.
std::optional<LossParts> read_loss_parts(const Executor& executor, const Program& program);

}  // namespace shardlens
