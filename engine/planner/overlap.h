// Overlap: sums over the ranks that are made while the ranks compute something else. The same sums, so the
// same result.
//
// An input gradient is summed while the weight's gradient is computed, which needs it as little as the sum
// needs that. Even where a core does the summing, a rank that is late for a moment keeps nobody waiting.
//
// A row-parallel product, on request, is made in parts over the tokens, and each part is summed while the
// next one is computed. Whether that is faster depends on who does the summing: a network card or a copy
// engine has nothing else to do, a core has.
#pragma once

#include "engine/program/program.h"

namespace shardlens {

/// Puts the all-reduce of every column-parallel product's dX (f backward: paper, section 3) right behind the
/// product that makes dX, beside the steps that stood between them. Not where there are replicas: their sums
/// of whole buckets go on beside the steps then, and who waits for one sum waits for all before it.
void overlap_input_gradients(Program& program);

/// Divides every row-parallel product whose sum over the ranks follows it into `chunks` of its rows (fewer
/// where it has fewer rows), each with an all-reduce beside the steps after it; a join, at which the ranks
/// wait for them, makes them the whole sum again.
void overlap_reductions(Program& program, int chunks);

}  // namespace shardlens
