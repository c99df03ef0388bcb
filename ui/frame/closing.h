// The question before the studio ends a training whose weights are in no checkpoint. A training that is saved
// needs no question: its last steps are saved too.
#pragma once

#include <optional>
#include <string>

#include "ui/context.h"

namespace shardlens::ui {

struct ClosingView {
  std::string lost;           ///< what the question is about
  std::optional<bool> saves;  ///< the answer: close, and save the weights or not; none: not closed
};

/// Returns what closing now would lose: "GPT-2 toy is at step 40 of 300"; empty if nothing.
std::string lost_steps(const TrainSnapshot& train);

/// Draws the question while view.closing_open is true.
void draw_closing(const Context& context);

}  // namespace shardlens::ui
