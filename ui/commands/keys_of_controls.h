// Who has the arrows, Space and Tab. They walk through the run, so Dear ImGui's own keys are off, until Tab
// takes them to the controls: then Tab goes from one to the next, Enter or Space presses it, arrows choose in
// a list, and Escape or a click gives them back. A list that is open has them too, until it is closed.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

/// The controls get the keys: those of the panel that has the focus, or where that is the Stage, which has
/// none, Setup's.
void take_keys_to_controls(const Context& context);
/// They get them, or give them back, wherever the focus is.
void set_keys_of_controls(bool are_theirs);
/// Gives them back where Escape or a click says so. Once a frame, before keys are looked at.
void follow_keys_of_controls(ViewState& view);
/// Once a frame, at its end. A tooltip follows the mouse: who goes on by keys reads what lies below it, until
/// the mouse is moved again.
void hide_tooltips_from_keys(ViewState& view);
/// This key, pressed now, is for a control.
bool is_for_controls(ImGuiKeyChord key);

}  // namespace shardlens::ui
