// A training step's report as a recording keeps it: numbers by name.
#pragma once

#include <string>
#include <vector>

#include "engine/record/recording.h"
#include "engine/train/trainer.h"

namespace shardlens {

std::vector<Metric> metrics_of(const StepReport& report);

/// The name of the gradients' norm of a group of layers, one of GradientNorms::groups().
std::string gradient_norm_metric(const std::string& group);

}  // namespace shardlens
