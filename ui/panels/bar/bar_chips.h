// The facts that the Bar always states, from nothing but the Snapshot: does the sharded run equal the serial
// one, which communicator carries it and why, where the numbers on the screen come from, and what is
// recorded.
#pragma once

#include "engine/runtime/snapshot.h"
#include "ui/context.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {

Chip parity_chip(const Snapshot& snapshot, const Theme& theme);
Chip communicator_chip(const Snapshot& snapshot, const Theme& theme);
Chip provenance_chip(const Snapshot& snapshot, const Theme& theme);
/// Who is late on purpose; there must be somebody.
Chip late_chip(const Settings& wanted, const Theme& theme);

/// The red button: what is recorded, and where the file is. `runs` of the Session, `steps` of a training.
Chip record_chip(const RecordingState& runs, const RecordingState& steps, const Theme& theme);

}  // namespace shardlens::ui
