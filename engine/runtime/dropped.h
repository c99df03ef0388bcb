// Which elements a dropout sets to zero: its mask, from the element's place in the whole tensor and the pass.
// Of attention's probabilities the place is that of their query head.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/operations.h"
#include "engine/program/program.h"

namespace shardlens {

/// The mask that a step with these attributes draws on a rank. `draw`: PassNumbers::draw of the pass.
DropoutMask mask_of(const Program& program, const Attributes& attributes, int rank, uint64_t draw);

/// The query heads of a rank.
struct QueryHeads {
  int64_t all = 0;    ///< on all ranks
  int64_t first = 0;  ///< the index of the rank's first head among them
  int64_t own = 0;    ///< on this rank, with zero heads
};
/// Of QKV [tokens, 3, heads, head_dim] or, with grouped queries, of Q [tokens, units, heads of a unit,
/// head_dim].
QueryHeads query_heads(const Program& program, const Tensor& q, bool grouped, int rank);
/// The head whose mask the rank's first head has: its own; head 0 with a planted mistake.
int64_t first_masked_head(const Attributes& attributes, const QueryHeads& heads);

/// Which probabilities P of an attention step are dropped: those of one sequence of the first part of the
/// batch and one of all query heads, [shown, shown], the first tokens' of `tokens`. `rank` computes the head.
/// Empty: the step has no dropout.
std::vector<bool> dropped_probabilities(const Program& program, const Step& step, int rank, int64_t sequence,
                                        int64_t head, int64_t tokens, int64_t shown, uint64_t draw);

}  // namespace shardlens
