// Overlap: sums over the ranks run while the ranks compute other steps. The sums are the same, so the result
// is the same.
//
// An input gradient is summed while the weight's gradient is computed: neither needs the other. Even if a
// core does the summing, a rank that is briefly late does not hold up the others.
//
// On request, a row-parallel product is computed in parts over the tokens, and each part is summed while the
// next one is computed. Whether that is faster depends on what does the summing: a network card or a copy
// engine is free for it, but a core has other work.
#pragma once

#include "engine/program/program.h"

namespace shardlens {

/// Moves the all-reduce of every column-parallel product's dX (f backward: paper, section 3) to right after
/// the product that makes dX, overlapped with the steps that were between them. Does nothing if there are
/// replicas: then the sums of whole buckets are overlapped too, and a rank that waits for one sum waits for
/// all sums before it.
void overlap_input_gradients(Program& program);

/// Divides every row-parallel product that is followed by its sum over the ranks into `chunks` parts of its
/// rows (fewer if it has fewer rows). Each part has an all-reduce that is overlapped with the steps after it.
/// At a join the ranks wait for all parts, which together are the whole sum.
void overlap_reductions(Program& program, int chunks);

}  // namespace shardlens
