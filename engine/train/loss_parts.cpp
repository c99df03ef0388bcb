// Reads the terms of BERT's loss from the ranks.
#include "engine/train/loss_parts.h"

#include "engine/train/model_state.h"

namespace shardlens {

std::optional<LossParts> read_loss_parts(const Executor& executor, const Program& program) {
  if (program.settings.model.objective != Objective::MaskedWords) return std::nullopt;
  LossParts parts;
  // There is one step for each part of the batch. Its result on a replica is that replica's share of the
  // mean.
  for (const Step& step : program.steps) {
    if (step.op != Op::CrossEntropy) continue;
    const bool words = program.tensor(step.outputs[0]).role == Role::WordLoss;
    for (int replica = 0; replica < program.dp(); ++replica)
      (words ? parts.words : parts.sentences) +=
          read_scalar(executor, program, step.outputs[0], 0, replica * program.tp());
  }
  return parts;
}

}  // namespace shardlens
