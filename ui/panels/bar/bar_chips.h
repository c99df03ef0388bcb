// The Bar's chips, made from the Snapshot alone. They answer: does the sharded run equal the serial one,
// which communicator carries it and why, where do the numbers on the screen come from, and what is recorded?
#pragma once

#include "engine/runtime/snapshot.h"
#include "ui/context.h"
#include "ui/plan/seen_break.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {

Chip parity_chip(const Snapshot& snapshot, const Theme& theme);
/// Says which run of a planted mistake is shown, in place of the parity chip; and where the error starts,
/// unless a lesson asks that.
Chip break_chip(const Context& context, const SeenBreak& seen);
Chip communicator_chip(const Snapshot& snapshot, const Theme& theme);
Chip provenance_chip(const Snapshot& snapshot, const Theme& theme);
/// Names the ranks that are late on purpose. `wanted` must hold at least one delay.
Chip late_chip(const Settings& wanted, const Theme& theme);

/// The speed from step to step, while that is not the usual one or the steps play.
Chip pace_chip(float walk_speed, const Theme& theme);

/// The red button: what is recorded, and where the file is. `runs`: recorded by the Session; `steps`: by a
/// training.
Chip record_chip(const RecordingState& runs, const RecordingState& steps, const Theme& theme);

}  // namespace shardlens::ui
