// Checks a Program that was read from a file: can it be planned, priced and drawn like one that the planner
// made? program_from_json() has already checked that every reference exists. This checks that each step has
// the tensors that other code reads, that sums of sizes do not overflow, and that chains of identities end.
#pragma once

#include <string>

#include "engine/program/program.h"

namespace shardlens {

/// Throws a request Error that begins with `source` and names the step or tensor. A Program that passes may
/// still compute wrong values, as one with a planted fault does, but all code can read it safely.
void check_program(const Program& program, const std::string& source);

}  // namespace shardlens
