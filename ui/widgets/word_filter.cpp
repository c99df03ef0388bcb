// Compares texts in lower case, word by word.
#include "ui/widgets/word_filter.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>

namespace shardlens::ui {

std::string lower_case(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return small;
}

bool matches_words(std::string_view text, std::string_view words) {
  const std::string in = lower_case(text);
  std::istringstream each(lower_case(words));
  for (std::string word; each >> word;)
    if (in.find(word) == std::string::npos) return false;
  return true;
}

}  // namespace shardlens::ui
