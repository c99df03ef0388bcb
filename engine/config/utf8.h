// Finds and counts the characters of UTF-8 text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace shardlens {

/// True for a byte that is not the first of its character.
inline bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Returns the number of characters in valid UTF-8.
inline size_t character_count(std::string_view utf8) {
  return static_cast<size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return !is_inside_character(c); }));
}

}  // namespace shardlens
