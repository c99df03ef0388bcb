// Figures of --json that are not always known.
#pragma once

#include <nlohmann/json.hpp>

namespace shardlens::cli {

/// `value`, or null where it is not known: a 0 would be taken for it.
template <class T>
nlohmann::ordered_json or_null(T value, bool is_known) {
  return is_known ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace shardlens::cli
