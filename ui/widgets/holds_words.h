// What a filter finds: text that holds every one of its words, in any order, in large letters or small.
#pragma once

#include <string_view>

namespace shardlens::ui {

/// True of no words too. Only letters of ASCII are alike in large and small.
bool holds_words(std::string_view text, std::string_view words);

}  // namespace shardlens::ui
