// What the words of the field mean, for whoever draws a text.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shardlens::ui {

/// How the commands begin that explain a word: "What is: Partial".
inline constexpr std::string_view kAsksMeaning = "What is: ";

/// Returns "Rank: One of the T workers …" if `words` of a text are a word of the glossary, with its
/// punctuation and in the plural: "Ranks," is Rank. Empty otherwise. The text lives as long as the program.
/// f, g and T are letters as well, so they are found only with `is_name`.
std::string_view glossary_text(std::string_view words, bool is_name = false);

/// A word of a text, with its punctuation.
struct TextWord {
  std::string text;
  bool is_name = false;  ///< set apart from the other words: f, `megatron`
};

/// Returns what each of the words means, as glossary_text() has it; empty: it is not in the glossary, or its
/// meaning is in `explained`, which grows. The two words of "tensor parallelism" have one meaning.
std::vector<std::string_view> glossary_meanings(const std::vector<TextWord>& words,
                                                std::set<std::string_view>& explained);

}  // namespace shardlens::ui
