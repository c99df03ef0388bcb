// Converts a training step's report to a recording's metrics: numbers by name.
#pragma once

#include <string>
#include <vector>

#include "engine/record/recording.h"
#include "engine/train/trainer.h"

namespace shardlens {

std::vector<Metric> metrics_of(const StepReport& report);
/// The metrics of a validation, stored with the step before it.
std::vector<Metric> metrics_of(const ValidationReport& report);

/// The unigram entropy of the training text: the loss of a model that ignores context. The same in every
/// step.
inline constexpr const char* kUnigramEntropyMetric = "unigram_entropy_nats";

/// The metric's name for the gradients' norm of a group of layers, one of GradientNorms::groups().
std::string gradient_norm_metric(const std::string& group);

}  // namespace shardlens
