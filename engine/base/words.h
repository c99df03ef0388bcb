// Converts an enum's values to words and back, for files, the command line and the screen. One table serves
// both directions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/base/suggest.h"

namespace shardlens {

/// One row of a table of words. A table is an array of rows.
template <class Enum>
struct Word {
  Enum value;
  const char* text;
};

/// Returns the word of a value; "?" if the table lacks the value.
template <class Enum, size_t N>
std::string word_of(const Word<Enum> (&words)[N], Enum value) {
  for (const Word<Enum>& word : words)
    if (word.value == value) return word.text;
  return "?";
}

/// Returns the value of a word. Throws a request Error if the table lacks the word; the message lists the
/// words. `what` is the enum's name in the message, such as "block".
template <class Enum, size_t N>
Enum parse_word(const Word<Enum> (&words)[N], const std::string& what, const std::string& text) {
  std::vector<std::string> known;
  for (const Word<Enum>& word : words) {
    if (text == word.text) return word.value;
    known.emplace_back(word.text);
  }
  throw unknown_name(what, text, known);
}

}  // namespace shardlens
