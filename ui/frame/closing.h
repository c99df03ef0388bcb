// The question before the studio ends a training whose weights are in no checkpoint. A training that is saved
// needs no question: its last steps are saved too, while the window is still open. If that fails, the window
// stays open and asks again, with the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ui/context.h"

namespace shardlens::ui {

struct ClosingView {
  std::string lost;                ///< what the question is about
  std::string problem;             ///< why the last try to save failed; empty: it was not tried yet
  bool wants_save = false;         ///< an answer: save, and close if that succeeds
  std::optional<int64_t> awaited;  ///< what is saved when so many of the training's saves are done
  bool was_running = false;        ///< the training, before it was paused to be saved
  std::optional<bool> saves;       ///< close, with the weights saved or dropped; none: not closed
};

/// Returns what closing now would lose: "GPT-2 toy is at step 40 of 300"; empty if nothing.
std::string lost_steps(const TrainSnapshot& train);
/// True if a model that is saved to a checkpoint has made steps since.
bool has_unsaved_steps(const TrainSnapshot& train);

/// Follows the answers and what became of the saving: sends commands to the training, and sets the answer
/// once everything is saved. Once a frame. `train`: the training that runs here.
void follow_closing(const Context& context, const TrainSnapshot& train);

/// Draws the question while view.closing_open is true.
void draw_closing(const Context& context);

}  // namespace shardlens::ui
