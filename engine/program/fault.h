// The classic mistakes of tensor parallelism, each as a change to a correct Program. They are planted on
// purpose, to show which check finds a mistake, where it begins and how it spreads. Each fault is planted
// once, in the first place where it is possible.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

enum class Fault {
  BiasBeforeReduction,  ///< every rank adds a row-parallel bias before the sum, so it counts T times
  SkipF,            ///< f's all-reduce of dX is left out: forward looks right, gradients are silently wrong
  SkipG,            ///< g's all-reduce is left out: every rank continues with its own term
  GeluOnPartial,    ///< the all-reduce comes after a GeLU instead of before it: GeLU of each rank's term,
                    ///< with the bias added once
  QkvAcrossHeads,   ///< the fused QKV matrix is cut into T equal column blocks, across heads and across Q, K,
                    ///< V
  ReduceCopy,       ///< the all-reduce sums a copy, and the step that follows reads the original
  LocalStatistics,  ///< LayerNorm on a slice of hidden uses the slice's own mean and variance
  OneDropoutStream,   ///< every rank uses the mask of rank 0's slice
  OwnDropoutStreams,  ///< every rank draws a different mask for a tensor that must be equal on all
  PaddedSoftmax,      ///< the vocabulary's padding takes part in the softmax of the loss
  TiedGradientLost,   ///< the lookup's gradient of a tied embedding replaces the output's instead of adding
                      ///< to it
  ClipInflated,       ///< gradients that all ranks hold count once per rank in the norm for clipping
};

/// What the settings must have, so that the fault is possible in their Program.
struct FaultNeeds {
  bool several_ranks = true;
  bool whole_model = false;
  bool dropout = false;              ///< only a whole model has dropout
  const char* split = "";            ///< a named split that makes the fault possible; empty: most splits do
  std::optional<NormCut> norm = {};  ///< how the residual stream must be cut; none: in any way
};

/// The texts about a fault, and what it needs.
struct FaultFacts {
  Fault fault;
  const char* name;      ///< "skip-f": on the command line and in files
  const char* title;     ///< "f's all-reduce left out": on screen
  const char* sentence;  ///< what the mistake is
  const char* needs;     ///< what a Program must have
  const char* options;   ///< the options of the command line that give it
  FaultNeeds settings;
};
const FaultFacts& facts_of(Fault fault);

std::string to_string(Fault fault);  ///< FaultFacts::name
const std::vector<Fault>& all_faults();
/// Inverse of to_string; throws a request Error that lists the names.
Fault parse_fault(const std::string& text);

/// Returns `program` with the fault planted in the first place where it is possible (for f and g: in a layer,
/// if there are layers). Throws a request Error if there is no such place; the message says what is missing.
/// For example, one rank has no collectives, and a split without a conversion cannot leave it out.
Program plant(Program program, Fault fault);

/// The same in one replica alone (Program::odd). Throws a request Error also if there is no such replica, and
/// for a fault that changes tensors and not only steps: the tensors are those of all replicas.
Program plant_in_replica(Program program, Fault fault, int replica);

}  // namespace shardlens
