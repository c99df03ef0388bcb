// Which characters have no shape, and how they are spelled.
#include <fmt/format.h>

#include "ui/platform/other_characters.h"

namespace shardlens {

bool is_invisible(char32_t character) {
  return character == 0x200C || character == 0x200D || character == 0xFEFF ||
         (character >= 0xFE00 && character <= 0xFE0F);
}

bool is_right_to_left(char32_t character) {
  return (character >= 0x0590 && character <= 0x08FF) || (character >= 0xFB1D && character <= 0xFDFF) ||
         (character >= 0xFE70 && character <= 0xFEFE) || (character >= 0x10800 && character <= 0x10FFF) ||
         (character >= 0x1E800 && character <= 0x1EFFF);
}

std::string spelling_of(char32_t character) {
  const auto code = static_cast<unsigned>(character);
  if (character < 0x20 || (character >= 0x7F && character < 0xA0)) return fmt::format("\\x{:02x}", code);
  // These change the direction of what follows, so that a name may look like another one.
  const bool turns = character == 0x200E || character == 0x200F || character == 0x061C ||
                     (character >= 0x202A && character <= 0x202E) ||
                     (character >= 0x2066 && character <= 0x2069);
  return turns ? fmt::format("U+{:04X}", code) : std::string();
}

}  // namespace shardlens
