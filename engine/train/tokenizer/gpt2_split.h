// GPT-2's pre-tokenisation: text is cut into pieces within which byte-level BPE may merge. The rule is
// published as the regular expression
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// and done here as one pass over the characters, whose classes (letter, number, white space, other) are
// ICU's.
#pragma once

#include <string_view>
#include <vector>

namespace shardlens {

/// The pieces of `text`, in order; joined they are `text` again, whatever its bytes. Bytes that are no UTF-8
/// count as "other" characters.
std::vector<std::string_view> gpt2_split(std::string_view text);

}  // namespace shardlens
