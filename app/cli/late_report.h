// What the ranks that --delay made late cost, as printed and as JSON.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/runtime/executor.h"
#include "engine/runtime/lateness.h"

namespace shardlens::cli {

/// Of the pass that `executor` ran last, by all its ranks.
std::vector<Lateness> last_lateness(const Program& program, const Executor& executor);

/// A list, empty where nobody was late.
nlohmann::ordered_json late_json(const Program& program, const std::vector<Lateness>& late);

/// A line each; nothing where nobody was late.
void print_late(FILE* out, const Program& program, const std::vector<Lateness>& late);

}  // namespace shardlens::cli
