// What the words of the field mean, for whoever draws a text.
#pragma once

#include <string_view>

namespace shardlens::ui {

/// Returns "Rank: One of the T workers …" if `words` of a text are a word of the glossary, with its
/// punctuation and in the plural: "Ranks," is Rank. Empty otherwise. The text lives as long as the program.
/// f, g and T are letters as well, so they are found only with `is_name`.
std::string_view glossary_text(std::string_view words, bool is_name = false);

}  // namespace shardlens::ui
