// Walks through the steps: the selection and the engine's position move together, by one step or to the next
// collective. The selection moves at once; the engine follows through its queue.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

/// Selects `step` and sends the engine to the position after it. Steps out of range are clamped.
void walk_to(const Context& context, StepId step);

void walk_forward(const Context& context);
void walk_back(const Context& context);
void walk_to_next_collective(const Context& context);      ///< or to the last step when there is none
void walk_to_previous_collective(const Context& context);  ///< or to the first
void walk_to_first(const Context& context);
void walk_to_last(const Context& context);

/// Call after a click has changed the selection. If the run has not reached the step yet, the engine goes
/// there, so that the Stage has the tensors that the Inspector shows. Steps that are done stay done.
void reach_selection(const Context& context);

/// True if the selection is at the last step of the open part.
bool stands_at_the_end(const Context& context);

/// True if a recording is open that plays by its own clock, not step by step.
bool plays_by_time(const Context& context);
void play_or_pause_replay(const Context& context);
/// True if the steps advance automatically, by clock or step by step.
bool is_playing(const Context& context);

/// True if there are steps, and the shown result belongs to the wanted settings.
bool can_walk(const Context& context);

/// The speeds of that walk, from the slowest to the fastest; 1 is the usual one.
inline constexpr float kWalkSpeeds[] = {0.25f, 0.5f, 1, 2, 4, 8};
/// "½ ×", "4 ×".
const char* walk_speed_text(float speed);
/// Takes the next slower (-1) or faster (1) speed.
void change_walk_speed(ViewState& view, int by);

/// How long Play stops at a step at the usual speed; longer at a collective.
double still_seconds(const Step& step);

/// While view.playing is true, goes one step forward when the current step was shown for still_seconds().
/// Stops at the last step. Call advance() once per frame; `delta_seconds` is the time since the last frame.
class Player {
 public:
  void advance(const Context& context, double delta_seconds);

 private:
  double still_seconds_ = 0;
};

}  // namespace shardlens::ui
