// A training step's report as a recording keeps it: numbers by name.
#pragma once

#include <vector>

#include "engine/record/recording.h"
#include "engine/train/trainer.h"

namespace shardlens {

std::vector<Metric> metrics_of(const StepReport& report);

}  // namespace shardlens
