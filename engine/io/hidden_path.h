// Words that name something built in (a model, a split, hardware, a text, a tokenizer) can be the name of a
// file, too. The built-in one is meant everywhere, and the file is "./name"; what hides the file says so.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

/// The sentence to say if `word` is one of the built-in names and also the path of a file or folder;
/// otherwise empty. `what` says what the word means: "the built-in model".
std::string hidden_path_remark(const std::string& word, const std::vector<std::string>& built_in,
                               const std::string& what);

}  // namespace shardlens
