// `verify --sweep`: runs one split at several degrees T and prints one table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/program/fault.h"

namespace shardlens::cli {

/// Parses "1,2,3"; an empty text means kSweptDegrees. Throws a request Error for anything else.
std::vector<int> parse_degrees(const std::string& text);

/// Returns the exit code: 1 if a degree breaks its bound. Throws a request Error if no degree can run.
int run_sweep(const Settings& settings, const std::vector<int>& degrees, std::optional<Fault> fault,
              bool json);

}  // namespace shardlens::cli
