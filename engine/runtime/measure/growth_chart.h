// A study of growth as charts, one an axis.
#pragma once

#include "engine/io/chart.h"
#include "engine/runtime/measure/growth_bench.h"

namespace shardlens {

/// The model's line, what was measured with its spread, and under it what was left out and what was run in a
/// few of its layers. An axis of which not one point has a prediction is a chart without points, which says
/// why.
Chart growth_chart(const Growth& growth, GrowthAxis axis);

}  // namespace shardlens
