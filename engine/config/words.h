// The words of an enum's values, in files, on the command line and on screen: one table for both directions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/config/suggest.h"

namespace shardlens {

/// One row of such a table, which is an array of them.
template <class Enum>
struct Word {
  Enum value;
  const char* text;
};

/// "?" for a value that the table lacks.
template <class Enum, size_t N>
std::string word_of(const Word<Enum> (&words)[N], Enum value) {
  for (const Word<Enum>& word : words)
    if (word.value == value) return word.text;
  return "?";
}

/// The value of a word. Throws a request Error that lists the words if there is none: `what` is what they are
/// words for, such as "block".
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
