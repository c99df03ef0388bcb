// Claims of texts that only a run can check: figures (engine/cost/figures.h) whose exact values are measured.
#pragma once

#include <vector>

#include "engine/cost/figures.h"

namespace shardlens {

/// Trains small models twice, sound and broken. It takes a few seconds.
std::vector<WorkedFigure> figures_of_runs();

/// worked_figures() and figures_of_runs().
std::vector<WorkedFigure> all_figures();

}  // namespace shardlens
