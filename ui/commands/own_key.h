// The key of a command where the studio runs: a browser keeps some keys for itself.
#pragma once

#include <imgui.h>

namespace shardlens::ui {

/// Returns the key that stands for `key` of the table of commands here.
ImGuiKeyChord own_key(ImGuiKeyChord key);

/// What is written on the key that the table calls Ctrl: "Ctrl", or "Cmd" on a Mac.
const char* name_of_ctrl();

}  // namespace shardlens::ui
