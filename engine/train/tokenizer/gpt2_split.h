// GPT-2's pre-tokenisation cuts text into pieces, and byte-level BPE merges only within a piece. The rule is
// published as the regular expression
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// It is implemented here as one pass over the characters. Their classes (letter, number, white space, other)
// are ICU's.
#pragma once

#include <string_view>
#include <vector>

namespace shardlens {

/// The pieces of `text`, in order. Joined they give `text` again, for any bytes. Bytes that are not UTF-8
/// count as "other" characters.
std::vector<std::string_view> gpt2_split(std::string_view text);

}  // namespace shardlens
