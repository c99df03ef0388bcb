// What a comparison covers, in a verb's text and in its JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/runtime/coverage.h"

namespace shardlens::cli {

/// Adds "compared_tensors", "program_tensors" and "left_out": reason, count and, if the Program is given, the
/// names of its tensors.
void add_coverage(nlohmann::ordered_json& json, const Coverage& coverage, const Program* program = nullptr);

/// Prints a line for each group of tensors that was left out.
void print_left_out(const Program& program, const Coverage& coverage);

/// The place of a difference: replica and rank, null where only a sum is known.
nlohmann::ordered_json place_json(int replica, int rank);

}  // namespace shardlens::cli
