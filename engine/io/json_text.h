// Writes JSON. File names, and what a damaged file held, need not be UTF-8; a JSON text must be. JSON has no
// words for numbers that are not finite.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardlens {

/// The key under which an object that json_text() writes lists its numbers that are NaN or infinite.
inline constexpr const char* kNotFiniteKey = "not_finite";

/// Adds the places of the numbers in `json` that are NaN or infinite to `found`, as JSON pointers.
template <class Json>
void find_not_finite(const Json& json, const std::string& at, std::vector<std::string>& found) {
  if (json.is_number_float()) {
    if (!std::isfinite(json.template get<double>())) found.push_back(at);
  } else if (json.is_structured()) {
    for (const auto& item : json.items()) find_not_finite(item.value(), at + "/" + item.key(), found);
  }
}

/// Returns `json` as text, on one line if `indent` is -1. Bytes that are not UTF-8 become U+FFFD. A path that
/// is read back to open a file again is stored by path_text() (engine/io/path_text.h), which keeps its bytes.
/// A number that is NaN or infinite becomes null, and not in silence: the object gets a last entry
/// "not_finite" with the places of all such numbers, ["/loss"].
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  const auto text = [&](const Json& whole) {
    return whole.dump(indent, ' ', false, Json::error_handler_t::replace);
  };
  std::vector<std::string> not_finite;
  if (json.is_object()) find_not_finite(json, "", not_finite);
  if (not_finite.empty()) return text(json);
  Json told = json;
  told[kNotFiniteKey] = not_finite;
  return text(told);
}

}  // namespace shardlens
