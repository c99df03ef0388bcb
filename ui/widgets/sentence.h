// An error's words as they stand on the screen. The engine writes them to follow "shardlens-cli: "; alone
// they are a sentence and begin like one.
#pragma once

#include <string>

namespace shardlens::ui {

/// With a capital letter in front where the first word is one of prose: "cannot open run.shardlens" begins
/// with "Cannot"; a name is left as it is written: "gpt2-tiny has no layer 9", "attn.qkv", "--gpu", "f's".
std::string as_sentence(std::string words);

}  // namespace shardlens::ui
