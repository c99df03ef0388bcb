// The error message for an unknown word: the word, the nearest known word, and the list. Every enum,
// preset and file key of the settings is read through it, so every typing error gets its remedy.
#pragma once

#include <string>
#include <vector>

#include "engine/base/error.h"

namespace shardlens {

/// Returns the Levenshtein distance: the fewest insertions, deletions and substitutions that turn `a` into
/// `b`.
int edit_distance(const std::string& a, const std::string& b);

/// Returns the candidate with the smallest edit distance to `text`, the first if several are equal; empty if
/// there are none.
std::string nearest_name(const std::string& text, const std::vector<std::string>& candidates);

/// The same, but empty if the candidate is too far from `text` to be a typing error.
std::string near_name(const std::string& text, const std::vector<std::string>& candidates);

/// "a, b, c".
std::string join(const std::vector<std::string>& names);

/// Returns a request Error such as: unknown split "megatorn"; did you mean "megatron"? Known: megatron,
/// reversed. Without a guess if no known word is near. Of more than 60 known words the nearest ten are
/// listed.
Error unknown_name(const std::string& what, const std::string& text, const std::vector<std::string>& known);

}  // namespace shardlens
