// The shared sentence for a word nobody knows: what it was, the nearest word that is known, and the whole
// list. Every enum, preset and file key of the settings is read through it, so that a typing error always
// gets its remedy.
#pragma once

#include <string>
#include <vector>

#include "engine/config/error.h"

namespace shardlens {

/// Levenshtein distance: the fewest insertions, deletions and substitutions that turn `a` into `b`.
int edit_distance(const std::string& a, const std::string& b);

/// The candidate with the smallest edit distance to `text`, the first of equals; empty if there are none.
std::string nearest_name(const std::string& text, const std::vector<std::string>& candidates);

/// The same where it is near enough to have been meant; else empty.
std::string near_name(const std::string& text, const std::vector<std::string>& candidates);

/// "a, b, c".
std::string join(const std::vector<std::string>& names);

/// A request Error such as: unknown split "megatorn"; did you mean "megatron"? Known: megatron, reversed. The
/// guess is left out where nothing known is near.
Error unknown_name(const std::string& what, const std::string& text, const std::vector<std::string>& known);

}  // namespace shardlens
