// How a search field filters: a text matches if it contains every word typed, in any order and any case.
#pragma once

#include <string_view>

namespace shardlens::ui {

/// Also true if `words` is empty. Case is ignored for ASCII letters only.
bool matches_words(std::string_view text, std::string_view words);

}  // namespace shardlens::ui
