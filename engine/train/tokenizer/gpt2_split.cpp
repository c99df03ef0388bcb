// Implements GPT-2's pre-tokenisation.
#include "engine/train/tokenizer/gpt2_split.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstddef>
#include <cstdint>

namespace shardlens {
namespace {

enum class Class { Letter, Number, Space, Other, End };

struct Character {
  Class kind = Class::End;
  size_t end = 0;  ///< where the next one begins
};

Character character_at(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  UChar32 code = 0;
  U8_NEXT(bytes, at, text.size(), code);
  if (code < 0) return {Class::Other, at};
  if (u_isUWhiteSpace(code)) return {Class::Space, at};
  const uint32_t category = U_GET_GC_MASK(code);
  if (category & U_GC_L_MASK) return {Class::Letter, at};
  if (category & U_GC_N_MASK) return {Class::Number, at};
  return {Class::Other, at};
}

// The number of bytes of the contraction that begins `text`, or 0. Lower case only: GPT-2 cuts 'S like any
// punctuation.
size_t contraction(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

// The end of the run of white space from `at`. If a character follows the run, the run ends before its last
// character, unless that is its only one. That last character goes to the word that follows if it is a space
// (` ?` of the word's pattern), or else is a piece of its own (the last alternative).
size_t white_space_end(std::string_view text, size_t at) {
  size_t end = at, last = at;
  Character next = character_at(text, at);
  while (next.kind == Class::Space) {
    last = end;
    end = next.end;
    next = character_at(text, end);
  }
  return next.kind == Class::End || last == at ? end : last;
}

size_t piece_end(std::string_view text, size_t at) {
  if (const size_t length = contraction(text.substr(at))) return at + length;
  Character next = character_at(text, at);
  if (text[at] == ' ') {
    const Character after = character_at(text, next.end);
    if (after.kind != Class::Space && after.kind != Class::End) next = after;
  }
  if (next.kind == Class::Space) return white_space_end(text, at);
  const Class run = next.kind;
  size_t end = at;
  for (; next.kind == run; next = character_at(text, end)) end = next.end;
  return end;
}

}  // namespace

std::vector<std::string_view> gpt2_split(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t end = piece_end(text, at);
    pieces.push_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

}  // namespace shardlens
