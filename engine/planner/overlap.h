// Overlap: a row-parallel product is made in parts over the tokens, and each part is summed over the ranks
// while the next one is computed. The same sums, so the same result; whether it is faster depends on who does
// the summing: a network card or a copy engine has nothing else to do, a core has.
#pragma once

#include "engine/program/program.h"

namespace shardlens {

/// Divides every row-parallel product whose sum over the ranks follows it into `chunks` of its rows (fewer
/// where it has fewer rows), each with an all-reduce beside the steps after it; a join, at which the ranks
/// wait for them, makes them the whole sum again.
void overlap_reductions(Program& program, int chunks);

}  // namespace shardlens
