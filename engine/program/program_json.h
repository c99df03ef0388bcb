// A Program as JSON and back: for `plan --json`, recordings and tests. What is written is what is read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/program/program.h"

namespace shardlens {

nlohmann::ordered_json program_to_json(const Program& program);

/// Throws a request Error that names `source` and what is missing, of the wrong type, or refers to nothing.
Program program_from_json(const nlohmann::json& json, const std::string& source);

}  // namespace shardlens
