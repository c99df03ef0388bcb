// The cost of the ranks that --delay made late, as printed and as JSON.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/runtime/executor.h"
#include "engine/runtime/lateness.h"

namespace shardlens::cli {

/// Returns the lateness in the last pass of `executor`, from the events of all its ranks.
std::vector<Lateness> last_lateness(const Program& program, const Executor& executor);

/// Returns a list, empty if no rank was late.
nlohmann::ordered_json late_json(const Program& program, const std::vector<Lateness>& late);

/// Prints one line for each late rank.
void print_late(FILE* out, const Program& program, const std::vector<Lateness>& late);

}  // namespace shardlens::cli
