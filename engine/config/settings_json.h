// Settings as JSON, for everything that outlives a process: recordings, the studio's saved state, `--json`.
// Writing is complete and reading is strict: every key must be there, except the delays, the devices, the
// fusion and the time-out, and no other key may be.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// Writes every field under its own name, and enums as their words; keys keep this order.
nlohmann::ordered_json settings_to_json(const Settings& settings);

/// Inverse of settings_to_json. Throws a request Error that names `source`, the key, what was found and what
/// is expected. It does not check whether the values make sense: call validate() before planning.
Settings settings_from_json(const nlohmann::json& json, const std::string& source);

}  // namespace shardlens
