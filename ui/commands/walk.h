// Walking through the steps: the selection and the engine's position move together, one step or one
// collective at a time. The selection moves at once; the engine follows through its queue.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

/// Selects `step` and asks the engine to stand right after it. Steps out of range are clamped.
void walk_to(const Context& context, StepId step);

void walk_forward(const Context& context);
void walk_back(const Context& context);
void walk_to_next_collective(const Context& context);      ///< or to the last step when there is none
void walk_to_previous_collective(const Context& context);  ///< or to the first
void walk_to_first(const Context& context);
void walk_to_last(const Context& context);

/// The selection changed by a click. A step that the run has not reached yet is gone to, so that the Stage
/// holds what the Inspector shows; one that is done stays done, and so do those after it.
void reach_selection(const Context& context);

/// The selection has nowhere to go: it is at the last step of what is open.
bool stands_at_the_end(const Context& context);

/// A recording is open that is played by its own clock, not step by step.
bool plays_by_time(const Context& context);
void play_or_pause_replay(const Context& context);
/// The steps go by by themselves, in whichever way.
bool is_playing(const Context& context);

/// There are steps to walk through, and the result shown belongs to the settings wanted.
bool can_walk(const Context& context);

/// How long Play holds a step still; a collective longer.
double still_seconds(const Step& step);

/// While view.playing: one step forward whenever the present one has been still for long enough; a collective
/// is held longer. Stops at the last step. Once per frame, `delta_seconds` after the one before.
class Player {
 public:
  void advance(const Context& context, double delta_seconds);

 private:
  double still_seconds_ = 0;
};

}  // namespace shardlens::ui
