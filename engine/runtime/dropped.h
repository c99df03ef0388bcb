// Which elements a dropout sets to zero: its mask, from the element's place in the whole tensor and the pass.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/operations.h"
#include "engine/program/program.h"

namespace shardlens {

/// The mask that a step with these attributes draws on a rank. `draw`: PassNumbers::draw of the pass.
DropoutMask mask_of(const Program& program, const Attributes& attributes, int rank, uint64_t draw);

/// Which probabilities P of an attention step are dropped: those of one sequence of the first part of the
/// batch and one of all query heads, [shown, shown], the first tokens' of `tokens`. `rank` computes the head.
/// Empty: the step has no dropout.
std::vector<bool> dropped_probabilities(const Program& program, const Step& step, int rank, int64_t sequence,
                                        int64_t head, int64_t tokens, int64_t shown, uint64_t draw);

}  // namespace shardlens
