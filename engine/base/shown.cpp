// Escapes and shortens text for people.
#include "engine/base/shown.h"

#include <algorithm>

#include "engine/base/utf8.h"

namespace shardlens {
namespace {

constexpr size_t kMessageBegin = 1600, kMessageEnd = 400;  // bytes of a long message that are kept

// The control characters of ASCII, and U+0080 to U+009F, which some terminals obey too.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 2) return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  return first < 0x20 || first == 0x7F;
}

std::string escaped(std::string_view text, bool lines) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const size_t bytes = std::max<size_t>(valid_character_bytes(text), 1);
    const std::string_view character = text.substr(0, bytes);
    const bool stays = lines && (character == "\n" || character == "\t");
    if (stays || (valid_character_bytes(text) > 0 && !is_control(character))) {
      out += character;
    } else {
      for (const char byte : character) {
        const auto value = static_cast<unsigned char>(byte);
        out += {'\\', 'x', kDigits[value / 16], kDigits[value % 16]};
      }
    }
    text.remove_prefix(bytes);
  }
  return out;
}

// The largest number of bytes up to `at` that ends with a whole character.
size_t whole_until(const std::string& text, size_t at) {
  while (at > 0 && is_inside_character(text[at])) --at;
  return at;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, true);
}

std::string shown(std::string_view name, size_t most) {
  std::string text = escaped(name.substr(0, 4 * most + 4), false);  // 4: the most bytes of a character
  if (character_count(text) <= most) return text;
  size_t end = 0;
  for (size_t characters = 0; characters < most; ++characters) end += character_bytes(text[end]);
  return text.substr(0, end) + "…";
}

std::string message_text(std::string_view message) {
  std::string text = printable(message);
  if (text.size() <= kMessageBegin + kMessageEnd) return text;
  return text.substr(0, whole_until(text, kMessageBegin)) + " … " +
         text.substr(whole_until(text, text.size() - kMessageEnd));
}

}  // namespace shardlens
