// A tensor and its layout in words and figures, for the Inspector: made from the Program alone, so that the
// words match what runs.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"
#include "engine/record/sample.h"

namespace shardlens::ui {

/// The headline of a layout: "Partial", "Replicated", "Sharded(1): columns"; "Whole" on one rank.
std::string layout_title(const Tensor& tensor, int ranks);

/// The meaning of the layout here, in one sentence: "Full shape, and wrong until summed over 4 ranks."
std::string layout_sentence(const Tensor& tensor, int ranks);

/// The part of the cut dimension that `rank` holds: "columns 0 … 191"; empty unless Sharded over several
/// ranks.
std::string held_range(const Tensor& tensor, int ranks, int rank);

/// One line of the shape table: neighbouring ranks that hold the same shape.
struct ShapeLine {
  std::string who;  ///< "every rank", "ranks 0 to 3", "rank 4"
  Shape shape;
  int64_t bytes = 0;  ///< of one of these ranks
};
std::vector<ShapeLine> shape_lines(const Tensor& tensor, int ranks);

/// Why a sample does not show each element's value, in words; empty if its exact values were kept.
/// `not_exact` is the run's own sentence about it (Result::not_exact).
std::string picture_only_words(const TensorSample& sample, const std::string& not_exact);

/// What the tensor is: "output of mlp.proj, forward, layer 0", "parameter, layer 0"; with its name if its
/// step has several outputs.
std::string describe(const Program& program, const Tensor& tensor);

}  // namespace shardlens::ui
