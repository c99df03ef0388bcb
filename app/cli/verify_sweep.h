// `verify --sweep`: one split at several degrees, as one table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/program/fault.h"

namespace shardlens::cli {

/// "1,2,3"; empty: kSweptDegrees. Throws a request Error for anything else.
std::vector<int> parse_degrees(const std::string& text);

/// Returns the exit code: 1 when a degree breaks its bound. Throws a request Error when none can run.
int run_sweep(const Settings& settings, const std::vector<int>& degrees, std::optional<Fault> fault,
              bool json);

}  // namespace shardlens::cli
