// Checks a Program that was read from a file: can it be planned, priced and drawn like one that the planner
// made? program_from_json() has already checked that every reference exists. This checks that each step has
// the tensors that other code reads, that sums of sizes do not overflow, and that chains of identities end.
#pragma once

#include <cstdint>
#include <string>

#include "engine/program/program.h"

namespace shardlens {

/// The largest Program that is planned or read. A step takes about a kilobyte, and 200 bytes more on each
/// rank: half a million steps are a whole gpt2 in 1,200 micro-batches.
inline constexpr int64_t kMostSteps = 500'000;
inline constexpr int64_t kMostRankSteps = 20'000'000;  ///< steps times T

/// Throws a request Error that begins with `source` and names the step or tensor. A Program that passes may
/// still compute wrong values, as one with a planted fault does, but all code can read it safely.
void check_program(const Program& program, const std::string& source);

}  // namespace shardlens
