// Reads and writes UTF-8 with ICU's macros.
#include "engine/train/tokenizer/code_points.h"

#include <unicode/utf8.h>

#include <cstdint>

namespace shardlens {

CodePoints to_code_points(std::string_view utf8) {
  CodePoints points;
  points.reserve(utf8.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(utf8.data());
  for (size_t at = 0; at < utf8.size();) {
    UChar32 code = 0;
    U8_NEXT_OR_FFFD(bytes, at, utf8.size(), code);
    points.push_back(static_cast<char32_t>(code));
  }
  return points;
}

void append_utf8(std::string& utf8, char32_t code_point) {
  char bytes[U8_MAX_LENGTH];
  int length = 0;
  U8_APPEND_UNSAFE(bytes, length, code_point);
  utf8.append(bytes, static_cast<size_t>(length));
}

}  // namespace shardlens
