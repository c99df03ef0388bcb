// Compares texts in lower case, word by word.
#include "ui/widgets/word_filter.h"

#include <sstream>
#include <string>

#include "engine/base/utf8.h"

namespace shardlens::ui {

bool matches_words(std::string_view text, std::string_view words) {
  const std::string in = lower_case(text);
  std::istringstream each(lower_case(words));
  for (std::string word; each >> word;)
    if (in.find(word) == std::string::npos) return false;
  return true;
}

}  // namespace shardlens::ui
