// Moves a value into a room that may be too small for it.
#pragma once

#include <algorithm>

namespace shardlens::ui {

/// The value, moved into [low, high]; `low` if there is no room between them. std::clamp() is undefined then,
/// and in a small window the room for a label is often less than the label.
template <class T>
constexpr T within(T value, T low, T high) {
  return std::max(low, std::min(value, high));
}

}  // namespace shardlens::ui
