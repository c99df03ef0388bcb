// An out-of-date picture must not pass for a fresh one: a veil over the panel, and a line that says what it
// shows and what is wanted instead. The same line tells why a run was refused, failed or was cancelled.
#pragma once

#include <string>

#include "ui/context.h"

namespace shardlens::ui {

/// What differs between two settings, as "T = 4, split megatron"; the values of `of`. Empty when nothing
/// does.
std::string difference(const Settings& of, const Settings& from);

/// The line for a snapshot: empty while what is shown is what is wanted and nothing went wrong.
std::string notice(const Snapshot& snapshot);

/// Draws both over the current window, above its children. `whole_line`: with the sentence, else only "out of
/// date".
void draw_veil(const Context& context, bool whole_line);

}  // namespace shardlens::ui
