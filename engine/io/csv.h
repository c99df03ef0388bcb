// A field of a CSV file (RFC 4180).
#pragma once

#include <string>

namespace shardlens {

/// Returns `text` in quotes, with quotes inside it doubled: a field that may contain commas.
inline std::string csv_quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

}  // namespace shardlens
