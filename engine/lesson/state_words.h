// A state of the studio as words of a command line, KEY=VALUE: "view=memory", "tp=8". They are the keys of a
// scene's block and of its table [run] (README.md), all in one row. A link is made of them, so a text stands
// without quotes wherever that says the same.
#pragma once

#include <string>
#include <vector>

#include "engine/lesson/lesson.h"

namespace shardlens {

std::vector<std::string> state_as_words(const SceneState& state);

/// The state of words that a person may have typed. Throws a request Error that names the word.
SceneState state_of_words(const std::vector<std::string>& words);

}  // namespace shardlens
