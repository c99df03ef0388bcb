// Makes the picture of the full tensor from the ranks' pictures: slices are joined, partial sums are added.
// It uses the pictures that exist already, so it takes a few microseconds and shows the same as the ranks'
// own pictures.
#pragma once

#include <memory>
#include <vector>

#include "engine/program/program.h"
#include "engine/record/sample.h"

namespace shardlens::ui {

using RankSamples = std::vector<std::shared_ptr<const TensorSample>>;  ///< [rank]; null: not yet

/// Returns a picture of the full tensor, at most kPictureExtent in each direction. Empty unless every needed
/// rank (Replicated: only rank 0) has a sample.
Picture whole_picture(const Tensor& tensor, const RankSamples& samples);

}  // namespace shardlens::ui
