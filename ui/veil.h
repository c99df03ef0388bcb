// An out-of-date picture must not pass for a fresh one: a veil over the panel, and a line that says what it
// shows and what is wanted instead. The same line tells why a run was refused, failed or was cancelled.
#pragma once

#include <string>

#include "ui/context.h"

namespace shardlens::ui {

/// The run was refused, failed or was cancelled.
bool has_stopped(const Snapshot& snapshot);

/// What differs between two settings, as "T = 4, split megatron"; the values of `of`. Empty when nothing
/// does.
std::string difference(const Settings& of, const Settings& from);

/// The line for a snapshot: empty while what is shown is what is wanted and nothing went wrong.
std::string notice(const Snapshot& snapshot);
/// The same where `wanted` may be newer than what the snapshot is about.
std::string notice(const Snapshot& snapshot, const Settings& wanted);

/// What a page says that has no plan to show. Why, is said once: by Setup, or where that is hidden by the
/// notice.
std::string no_plan_words(const Context& context);

/// Greys the current window, above its children, while the result it shows is out of date.
void draw_veil(const Context& context);

/// Writes notice() at the bottom of the current window, above its children, when the run was refused, failed
/// or was cancelled, and Setup does not say so.
void draw_notice(const Context& context);

}  // namespace shardlens::ui
