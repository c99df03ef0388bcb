// What the parts of the Setup panel share.
#pragma once

#include "ui/context.h"
#include "ui/panels/remedies.h"

namespace shardlens::ui {

/// A card per weight matrix: the picture of its cut, its shape, and the choice of the cut.
void draw_matrices(const Context& context, const Settings& wanted);

/// Bytes per rank by kind against the hardware's line, planned and, after a run, measured.
void draw_memory_per_rank(const Context& context, const Settings& wanted);

}  // namespace shardlens::ui
