// Marks an out-of-date result, so that it is not mistaken for a new one: its panel is dimmed, and a line
// names its settings and the wanted ones. The same line says why a run was refused, failed or was cancelled;
// refusal.h draws that reason on the page.
#pragma once

#include <string>

#include "engine/runtime/snapshot.h"
#include "ui/context.h"

namespace shardlens::ui {

/// The run was refused, failed or was cancelled.
bool has_stopped(const Snapshot& snapshot);

/// The line for a snapshot. Empty if the result belongs to the wanted settings and nothing went wrong.
std::string notice(const Snapshot& snapshot);
/// The same if `wanted` may be newer than the snapshot's settings.
std::string notice(const Snapshot& snapshot, const Settings& wanted);

/// Returns the text of a page while there is no plan to show and no run before. The card above says why.
std::string no_plan_words(const Context& context);

/// Dims the current window, with its children, while the result it shows is out of date.
void dim_stale_result(const Context& context);
/// Covers it while a lesson's scene is on its way, and says so: what it shows belongs to the scene before.
void cover_awaited_scene(const Context& context);
/// Dims it from `top` on, a height on the screen.
void dim_below(const Context& context, float top);

}  // namespace shardlens::ui
