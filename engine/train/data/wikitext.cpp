// Undoes WikiText's tokenisation line by line: decides which words have no space between them.
#include "engine/train/data/wikitext.h"

#include <algorithm>
#include <array>
#include <vector>

namespace shardlens {
namespace {

// A word of a line. A flag is true if no space is written on that side.
struct Word {
  std::string text;
  bool joins_before = false, joins_after = false;
};

template <size_t N>
bool is_one_of(const std::string& word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 3> kInsideWords{"@-@", "@,@", "@.@"};
constexpr std::array<std::string_view, 14> kAfterWords{",", ".", ";", ":",      "!",      "?",      "%",
                                                       ")", "]", "}", "\u2019", "\u201d", "\u2032", "\u2033"};
constexpr std::array<std::string_view, 7> kBeforeWords{"(", "[", "{", "$", "#", "\u2018", "\u201c"};
constexpr std::array<std::string_view, 8> kEndings{"'s", "'m", "'re", "'ve", "'ll", "'d", "'t", "n't"};

std::vector<Word> words_of(std::string_view line) {
  constexpr std::string_view kSpaces = " \t\r\v\f";
  std::vector<Word> words;
  for (size_t at = line.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kSpaces, at), line.size());
    words.push_back({std::string(line.substr(at, end - at))});
    at = line.find_first_not_of(kSpaces, end);
  }
  return words;
}

// Quotes of one kind open and close in turn.
void pair_quotes(std::vector<Word>& words, std::string_view quote) {
  std::vector<Word*> quotes;
  for (Word& word : words)
    if (word.text == quote) quotes.push_back(&word);
  for (size_t i = 0; i + 1 < quotes.size(); i += 2) {
    quotes[i]->joins_after = true;
    quotes[i + 1]->joins_before = true;
  }
  if (quotes.size() % 2 == 1 && quote == "'") quotes.back()->joins_before = true;
}

// "= = Early life = =": the signs of a heading are one word at either end.
void join_heading(std::vector<Word>& words) {
  const auto is_sign = [](const Word& word) { return word.text == "="; };
  const auto body = std::find_if_not(words.begin(), words.end(), is_sign);
  const auto signs = body - words.begin();
  const auto closing = std::find_if_not(words.rbegin(), words.rend(), is_sign) - words.rbegin();
  if (body == words.end() || signs == 0 || signs != closing) return;
  for (auto i = decltype(signs){1}; i < signs; ++i) {
    words[static_cast<size_t>(i)].joins_before = true;
    words[words.size() - static_cast<size_t>(i)].joins_before = true;
  }
}

std::string undo_line(std::string_view line) {
  std::vector<Word> words = words_of(line);
  join_heading(words);
  pair_quotes(words, "\"");
  pair_quotes(words, "'");
  std::string out;
  bool joins = true;
  for (const Word& word : words) {
    const bool inside = is_one_of(word.text, kInsideWords);
    const bool before =
        inside || word.joins_before || is_one_of(word.text, kAfterWords) || is_one_of(word.text, kEndings);
    if (!joins && !before) out += ' ';
    out += inside ? word.text.substr(1, 1) : word.text;
    joins = inside || word.joins_after || is_one_of(word.text, kBeforeWords);
  }
  return out;
}

}  // namespace

std::string undo_wikitext(std::string_view text) {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += undo_line(text.substr(at, end - at));
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace shardlens
