// Draws a growth study as charts, one for each axis.
#pragma once

#include "engine/io/chart.h"
#include "engine/runtime/measure/growth_bench.h"

namespace shardlens {

/// The model's line, the measurements with their spread, and below them what was left out and what ran with a
/// few of its layers. If no point of an axis has a prediction, the chart has no points and gives the reason.
Chart growth_chart(const Growth& growth, GrowthAxis axis);

}  // namespace shardlens
