// Converts bytes to text and back.
#include "engine/train/tokenizer/byte_alphabet.h"

#include <array>
#include <cstddef>

namespace shardlens {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr int kMoved = 68;  // bytes that do not represent themselves
constexpr int kFirstMoved = 0x100;

struct Alphabet {
  std::array<int, 256> letter{};                 // byte -> code point
  std::array<int, kFirstMoved + kMoved> byte{};  // code point -> byte or -1
  constexpr Alphabet() {
    byte.fill(-1);
    int next = kFirstMoved;
    for (int b = 0; b < 256; ++b) {
      letter[static_cast<size_t>(b)] = stands_for_itself(b) ? b : next++;
      byte[static_cast<size_t>(letter[static_cast<size_t>(b)])] = b;
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

std::string byte_to_letter(uint8_t byte) {
  const int code = kAlphabet.letter[byte];
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

std::optional<std::string> letters_to_bytes(std::string_view letters) {
  std::string bytes;
  for (size_t i = 0; i < letters.size(); ++i) {
    const auto lead = static_cast<uint8_t>(letters[i]);
    int code = lead;
    if (lead >= 0x80) {  // all characters of the alphabet take one or two bytes
      if ((lead & 0xE0) != 0xC0 || i + 1 == letters.size()) return std::nullopt;
      code = (lead & 0x1F) << 6 | (static_cast<uint8_t>(letters[++i]) & 0x3F);
    }
    if (code >= kFirstMoved + kMoved || kAlphabet.byte[static_cast<size_t>(code)] < 0) return std::nullopt;
    bytes += static_cast<char>(kAlphabet.byte[static_cast<size_t>(code)]);
  }
  return bytes;
}

}  // namespace shardlens
