// The question before the studio ends a training whose weights are in no checkpoint. A training that is saved
// needs no question: its last steps are saved too.
#pragma once

#include <optional>

#include "ui/context.h"

namespace shardlens::ui {

struct ClosingView {
  std::optional<bool> saves;  ///< the answer: close, and save the weights or not; none: not closed
};

/// True if closing now would lose steps of a training.
bool would_lose_steps(const TrainSnapshot& train);

/// Draws the question while view.closing_open is true.
void draw_closing(const Context& context);

}  // namespace shardlens::ui
