// The facts that the Bar always states, from nothing but the Snapshot: does the sharded run equal the serial
// one, which communicator carries it and why, and where the numbers on the screen come from.
#pragma once

#include "ui/context.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {

Chip parity_chip(const Snapshot& snapshot, const Theme& theme);
Chip communicator_chip(const Snapshot& snapshot, const Theme& theme);
Chip provenance_chip(const Snapshot& snapshot, const Theme& theme);
/// Who is late on purpose; there must be somebody.
Chip late_chip(const Settings& wanted, const Theme& theme);

}  // namespace shardlens::ui
