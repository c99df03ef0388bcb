// Settings as JSON, for whatever outlives a process: recordings, the studio's remembered state, `--json`.
// Reading is as strict as writing is complete: every key must be there, but for the delays, the devices and
// the time-out, and no other.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// Every field under its own name, enums by their words; keys keep this order.
nlohmann::ordered_json settings_to_json(const Settings& settings);

/// Inverse of settings_to_json. Throws a request Error that names `source`, the key, what was found and what
/// is expected. The values are read, not judged: call validate() before they are planned.
Settings settings_from_json(const nlohmann::json& json, const std::string& source);

}  // namespace shardlens
