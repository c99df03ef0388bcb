// The splits of one model beside each other: what each would make a rank send, compute and hold.
#pragma once

#include <vector>

#include "engine/cost/compare_splits.h"
#include "ui/context.h"

namespace shardlens::ui {

/// A bar a split, a segment a collective; a click runs the split. Returns the height it took.
float draw_splits(const Context& context, const std::vector<SplitCost>& splits, ImVec2 at, float width);

}  // namespace shardlens::ui
