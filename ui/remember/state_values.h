// The values of the state file, one by one: how each is written, read and checked, and what becomes of it
// when two studios have changed the file.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ui/remember/state_file.h"

namespace shardlens {
class ObjectReader;  // engine/io/json.h
}

namespace shardlens::ui {

struct StateValue {
  const char* key;
  std::function<nlohmann::json(const RememberedState&)> write;
  /// Reads it from the object of all values. Of a value with parts, each right one is taken. Throws a request
  /// Error, which says where and why, if anything is not right; that is then as it was before.
  std::function<void(RememberedState&, ObjectReader&)> read;
  /// `into` has the value of the file, which another studio may have changed. Takes over what this studio has
  /// changed from `before` to `now`.
  std::function<void(RememberedState& into, const RememberedState& before, const RememberedState& now)> merge;
};

const std::vector<StateValue>& state_values();

}  // namespace shardlens::ui
