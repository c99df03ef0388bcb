// The full tensor, put together from what the ranks hold: slices side by side, partial sums added. It is made
// of the pictures already taken, so it costs a few microseconds and shows exactly what the ranks' own
// pictures show.
#pragma once

#include <memory>
#include <vector>

#include "engine/program/program.h"
#include "engine/record/sample.h"

namespace shardlens::ui {

using RankSamples = std::vector<std::shared_ptr<const TensorSample>>;  ///< [rank]; null: not yet

/// A picture of the full tensor, at most kPictureExtent in each direction. Empty unless every rank that is
/// needed has a sample (Replicated: rank 0).
Picture whole_picture(const Tensor& tensor, const RankSamples& samples);

}  // namespace shardlens::ui
