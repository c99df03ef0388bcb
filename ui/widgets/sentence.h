// Turns an error's text into a sentence for the screen. The engine writes error texts to follow
// "shardlens-cli: ", so they begin with a small letter.
#pragma once

#include <string>

namespace shardlens::ui {

/// Returns the text with a capital first letter if its first word is prose: "cannot open run.shardlens"
/// becomes "Cannot ...". A name stays as it is: "gpt2-tiny has no layer 9", "attn.qkv", "--gpu", "f's".
std::string as_sentence(std::string words);

}  // namespace shardlens::ui
