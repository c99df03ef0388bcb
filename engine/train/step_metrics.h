// A training step's report as a recording keeps it: numbers by name.
#pragma once

#include <string>
#include <vector>

#include "engine/record/recording.h"
#include "engine/train/trainer.h"

namespace shardlens {

std::vector<Metric> metrics_of(const StepReport& report);
/// Of a look at the validation text, to be kept with the step it followed.
std::vector<Metric> metrics_of(const ValidationReport& report);

/// What a model reaches that ignores context, of the text that is learnt: the same with every step.
inline constexpr const char* kUnigramEntropyMetric = "unigram_entropy_nats";

/// The name of the gradients' norm of a group of layers, one of GradientNorms::groups().
std::string gradient_norm_metric(const std::string& group);

}  // namespace shardlens
