// Finds, counts, checks and changes the characters of UTF-8 text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
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

/// Returns the number of bytes, 1 to 4, that a character with this first byte has; 0 if none begins so.
inline size_t character_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  if (byte < 0xC2 || byte > 0xF4) return 0;
  return byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Returns the bytes of the valid character that `text` begins with; 0 if it begins with none.
inline size_t valid_character_bytes(std::string_view text) {
  const size_t bytes = text.empty() ? 0 : character_bytes(text[0]);
  if (bytes > text.size()) return 0;
  for (size_t at = 1; at < bytes; ++at)
    if (!is_inside_character(text[at])) return 0;
  if (bytes < 3) return bytes;
  // Too long a form, a surrogate, or beyond the last character.
  const auto first = static_cast<unsigned char>(text[0]), second = static_cast<unsigned char>(text[1]);
  const bool refused = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                       (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return refused ? 0 : bytes;
}

/// Asked of every text in every frame of the studio. Most of it is ASCII, which is read eight bytes at a time.
inline bool is_utf8(std::string_view text) {
  constexpr uint64_t kNotAscii = 0x8080808080808080;
  while (!text.empty()) {
    if (uint64_t eight = 0; text.size() >= sizeof eight) {
      std::memcpy(&eight, text.data(), sizeof eight);
      if ((eight & kNotAscii) == 0) {
        text.remove_prefix(sizeof eight);
        continue;
      }
    }
    const size_t bytes = valid_character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

/// Returns `text` with U+FFFD in place of each byte that belongs to no character.
inline std::string to_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bytes = valid_character_bytes(text);
    bytes == 0 ? out += "\xEF\xBF\xBD" : out += text.substr(0, bytes);
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

/// Returns `text` with small ASCII letters in place of capital ones; all else stays, whatever the locale.
inline std::string lower_case(std::string_view text) {
  std::string small(text);
  for (char& letter : small)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return small;
}

}  // namespace shardlens
