// Values of --json that are not always known.
#pragma once

#include <nlohmann/json.hpp>

namespace shardlens::cli {

/// Returns `value`, or null if it is not known. A 0 would look like a real value.
template <class T>
nlohmann::ordered_json or_null(T value, bool is_known) {
  return is_known ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace shardlens::cli
