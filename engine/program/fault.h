// The classic mistakes of tensor parallelism, each as a change to a correct Program. Planted on purpose, they
// show which check finds them, where they begin and how they spread. Each is
// planted once, at its first opportunity.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

enum class Fault {
  BiasBeforeReduction,  ///< a row-parallel bias is added by every rank before the sum, so it counts T times
  SkipF,            ///< f's all-reduce of dX is left out: forward looks right, gradients are silently wrong
  SkipG,            ///< g's all-reduce is left out: every rank goes on with its own term
  GeluOnPartial,    ///< the all-reduce before a GeLU comes after it: each rank bends its own term
  QkvAcrossHeads,   ///< the fused QKV matrix is cut into T equal column blocks, across heads and across Q, K,
                    ///< V
  ReduceCopy,       ///< the all-reduce sums a copy, and the step that follows reads the original
  LocalStatistics,  ///< LayerNorm on a slice of hidden takes the slice's own mean and variance
  OneDropoutStream,   ///< every rank draws, for its own slice, the mask of rank 0's
  OwnDropoutStreams,  ///< every rank draws another mask for a tensor that all should hold alike
  PaddedSoftmax,      ///< the vocabulary's padding takes part in the softmax of the loss
  TiedGradientLost,   ///< the lookup's gradient of a tied embedding replaces the output's instead of adding
                      ///< to it
  ClipInflated,       ///< gradients that all ranks hold alike count once per rank in the norm that clips
};

/// What the settings must have so that a Program of theirs can go wrong in this way.
struct FaultNeeds {
  bool several_ranks = true;
  bool whole_model = false;
  bool dropout = false;              ///< which only a whole model has
  const char* split = "";            ///< a named split that gives the opportunity; empty: most do
  std::optional<NormCut> norm = {};  ///< where the stream between the blocks must lie otherwise
};

/// What is said of a fault, and what it needs.
struct FaultFacts {
  Fault fault;
  const char* name;      ///< "skip-f": on the command line and in files
  const char* title;     ///< "f's all-reduce left out": on screen
  const char* sentence;  ///< what was done wrong, plainly
  const char* needs;     ///< what a Program must have
  const char* options;   ///< of the command line, that bring it
  FaultNeeds settings;
};
const FaultFacts& facts_of(Fault fault);

std::string to_string(Fault fault);  ///< its name
const std::vector<Fault>& all_faults();
/// Inverse of to_string; throws a request Error that lists the names.
Fault parse_fault(const std::string& text);

/// `program` with the fault planted at its first opportunity; f and g are left out within a layer where there
/// is one. Throws a request Error that says what is missing when there is none: one rank has nothing to get
/// wrong, and a split without the conversion in question cannot forget it.
Program plant(Program program, Fault fault);

}  // namespace shardlens
