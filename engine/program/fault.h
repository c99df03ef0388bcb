// The classic mistakes of tensor parallelism, each as a change to a correct Program. Planted on purpose, they
// show that the parity check finds them and names the tensor at which they begin (DESIGN section 4, known
// traps).
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

enum class Fault {
  BiasBeforeReduction,  ///< a row-parallel bias is added by every rank before the sum, so it counts T times
  SkipF,           ///< f's all-reduce of dX is left out: forward looks right, gradients are silently wrong
  SkipG,           ///< g's all-reduce is left out: every rank goes on with its own term
  QkvAcrossHeads,  ///< the fused QKV matrix is cut into T equal column blocks, across heads and across Q, K,
                   ///< V
  ReduceCopy,      ///< the all-reduce sums a copy, and the step that follows reads the original
  PaddedSoftmax,   ///< the vocabulary's padding takes part in the softmax of the loss
  TiedGradientLost,  ///< the lookup's gradient of a tied embedding replaces the output's instead of adding to
                     ///< it
  ClipInflated,      ///< gradients that all ranks hold alike count once per rank in the norm that clips
};

/// "bias-before-reduction", "skip-f", "skip-g", "qkv-across-heads", "reduce-copy" and, of a whole model,
/// "padded-softmax", "tied-gradient-lost", "clip-inflated".
std::string to_string(Fault fault);
const std::vector<Fault>& all_faults();
/// Inverse of to_string; throws a request Error that lists the names.
Fault parse_fault(const std::string& text);

/// `program` with the fault planted at its first opportunity. Throws a request Error when there is none: one
/// rank has nothing to get wrong, and a split without the conversion in question cannot forget it.
Program plant(Program program, Fault fault);

}  // namespace shardlens
