// Inside a collective: its hops over the ranks, as a ring or as a tree, which rank holds whose terms of which
// chunk, what the ring costs on the chosen hardware, and what was measured here. The view takes the whole
// window. The keys that walk through the steps walk through its hops.
#pragma once

#include <string>

#include "ui/context.h"

namespace shardlens::ui {

/// True if a collective can be shown: the selected step is one of several ranks.
bool can_look_inside(const Context& context);
/// True if the view is open and has something to show.
bool is_inside_collective(const Context& context);

/// Shows the selected collective; if another step is selected, the next collective after it, else the first
/// one.
void look_inside(const Context& context);
void look_inside(const Context& context, StepId step);
/// Goes back to the panel it was opened from. Returns false if the view was not open.
bool leave_collective(const Context& context);

/// "Inside a collective (C)", for a tooltip.
std::string inside_hint();

/// True if the shown plan has a collective.
bool has_collective(const Context& context);

// From hop to hop.
void hop_forward(const Context& context);
void hop_back(const Context& context);
void hop_to_first(const Context& context);
void hop_to_last(const Context& context);
void play_or_stop_hops(const Context& context);
/// Goes to the next or previous collective of the Program, and to its first hop; stays if there is none.
void show_next_collective(const Context& context);
void show_previous_collective(const Context& context);
/// Changes between ring and tree, if the collective has both.
void change_wiring(const Context& context);

/// Draws the view over the window, but for `left` and `top` pixels at its edges. Call it once per frame while
/// is_inside_collective().
void draw_inside_collective(const Context& context, float left, float top);

}  // namespace shardlens::ui
