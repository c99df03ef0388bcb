// Decides whether arrows, Space and Tab act on the run or on the controls. Normally they walk through the
// run, and Dear ImGui's own keys are off. Tab gives them to the controls: then Tab goes to the next control,
// Enter or Space presses it, arrows choose in a list, and Escape or a click gives the keys back to the run.
// An open list also has the keys.
#pragma once

#include "ui/context.h"

namespace shardlens::ui {

/// Gives the keys to the controls of the focused panel. The Stage has no controls, so there Setup gets them.
void take_keys_to_controls(const Context& context);
/// Gives the keys to the controls, or takes them back, without changing the focus.
void set_keys_of_controls(bool are_theirs);
/// True while the controls have the keys.
bool keys_are_for_controls();
/// Takes the keys back after Escape or a click. Call it once a frame, before keys are handled.
void follow_keys_of_controls(ViewState& view);
/// Hides tooltips while a person uses keys, because a tooltip would cover what is below the mouse. They
/// return when the mouse moves. Call it once a frame, at its end.
void hide_tooltips_from_keys(ViewState& view);
/// True if this key, pressed now, is for a control.
bool is_for_controls(ImGuiKeyChord key);

}  // namespace shardlens::ui
