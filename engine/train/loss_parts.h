// BERT's loss is a sum of two: of the masked words and of the sentences' order. Each is learned at its own
// pace, so each is shown.
#pragma once

#include <optional>

#include "engine/runtime/executor.h"

namespace shardlens {

struct LossParts {
  double words = 0;      ///< nats a masked token
  double sentences = 0;  ///< nats a pair of sentences
};

/// The two terms of the pass that `executor` has finished, over all replicas and all parts of the batch; none
/// for a model that has one loss. Call while it is idle.
std::optional<LossParts> read_loss_parts(const Executor& executor, const Program& program);

}  // namespace shardlens
