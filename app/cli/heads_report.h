// How a plan's heads lie over its ranks, as the verbs report it: counted, and, after a run, measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/runtime/plan.h"

namespace shardlens::cli {

/// `attention_seconds`: of each rank, measured; empty where nothing ran.
nlohmann::ordered_json heads_json(const Plan& plan, const std::vector<double>& attention_seconds = {});

/// One line, or "" where T divides the heads.
std::string heads_line(const Plan& plan, const std::vector<double>& attention_seconds = {});

}  // namespace shardlens::cli
