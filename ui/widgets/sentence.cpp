// Decides if a text's first word is prose or a name.
#include "ui/widgets/sentence.h"

#include <algorithm>
#include <utility>

namespace shardlens::ui {

std::string as_sentence(std::string words) {
  const auto is_lower = [](char letter) { return letter >= 'a' && letter <= 'z'; };
  const auto end = std::find_if_not(words.begin(), words.end(), is_lower);
  const auto length = end - words.begin();
  const bool ends_there = end == words.end() || *end == ' ' || *end == ',' || *end == ':';
  const bool is_prose = ends_there && (length > 1 || (length == 1 && words.front() == 'a'));
  if (is_prose) words.front() = static_cast<char>(words.front() - 'a' + 'A');
  return words;
}

}  // namespace shardlens::ui
