// Converts a Program to JSON and back, for `plan --json`, recordings and tests. A Program that was written
// and read again is equal to the original.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/program/program.h"

namespace shardlens {

nlohmann::ordered_json program_to_json(const Program& program);
/// Returns program_to_json() as text on one line. A tree of a large Program takes fifteen times as much
/// memory as its text: this one is made step by step.
std::string program_text(const Program& program);

/// Throws a request Error if something is missing, has the wrong type, or refers to a tensor or step that
/// does not exist. The message names `source` and the place.
Program program_from_json(const nlohmann::json& json, const std::string& source);

}  // namespace shardlens
