// Whether a Program that somebody else wrote can be planned, priced and drawn like one of the planner's.
// program_from_json() has seen to it that every reference is there; this sees to it that steps have the
// tensors that those who read Programs look at, that sizes can be added up, and that identities lead
// somewhere.
#pragma once

#include <string>

#include "engine/program/program.h"

namespace shardlens {

/// Throws a request Error that begins with `source` and names the step or tensor. What it accepts may still
/// be wrong, as a planted fault is; it harms nobody who looks at it.
void check_program(const Program& program, const std::string& source);

}  // namespace shardlens
