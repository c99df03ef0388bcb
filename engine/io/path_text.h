// Paths in JSON. A path may hold any bytes, a text of JSON only UTF-8.
#pragma once

#include <string>

namespace shardlens {

/// Returns `path` as valid UTF-8 from which path_of() makes the same bytes again: mostly itself. A path that
/// is not UTF-8 becomes "file:caf%E9.txt".
std::string path_text(const std::string& path);

/// Returns the path that path_text() was given.
std::string path_of(const std::string& text);

}  // namespace shardlens
