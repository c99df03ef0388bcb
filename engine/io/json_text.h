// Writes JSON. File names, and what a damaged file held, need not be UTF-8; a JSON text must be.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace shardlens {

/// Returns `json` as text, on one line if `indent` is -1. Bytes that are not UTF-8 become U+FFFD. A path that
/// is read back to open a file again is stored by path_text() (engine/io/path_text.h), which keeps its bytes.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace shardlens
