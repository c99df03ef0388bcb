// The verbs' report of how a plan's heads are spread over its ranks: counted, and after a run also measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/runtime/plan.h"

namespace shardlens::cli {

/// `attention_seconds`: one measured time for each rank; empty if nothing ran.
nlohmann::ordered_json heads_json(const Plan& plan, const std::vector<double>& attention_seconds = {});

/// Returns one line, or "" if T divides the heads.
std::string heads_line(const Plan& plan, const std::vector<double>& attention_seconds = {});

}  // namespace shardlens::cli
