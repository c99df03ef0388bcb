// Marks an out-of-date result, so that it is not mistaken for a new one: its panel is dimmed, and a line
// names its settings and the wanted ones. The same line says why a run was refused, failed or was cancelled.
#pragma once

#include <string>

#include "engine/runtime/snapshot.h"
#include "ui/context.h"

namespace shardlens::ui {

/// The run was refused, failed or was cancelled.
bool has_stopped(const Snapshot& snapshot);

/// Returns the differences between two settings, with the values of `of`: "T = 4, split megatron". Empty if
/// they are equal.
std::string difference(const Settings& of, const Settings& from);

/// The line for a snapshot. Empty if the result belongs to the wanted settings and nothing went wrong.
std::string notice(const Snapshot& snapshot);
/// The same if `wanted` may be newer than the snapshot's settings.
std::string notice(const Snapshot& snapshot, const Settings& wanted);

/// Returns the text of a page while there is no plan to show. The reason is shown once: in Setup, or in the
/// notice if Setup is hidden.
std::string no_plan_words(const Context& context);

/// Dims the current window, with its children, while the result it shows is out of date.
void dim_stale_result(const Context& context);

/// Writes notice() at the bottom of the current window, above its children, if the run was refused, failed or
/// was cancelled and Setup does not say so.
void draw_notice(const Context& context);

}  // namespace shardlens::ui
