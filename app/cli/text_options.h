// Shared by the verbs that read or write text: finds the tokenizer for a model, and says what of a text was
// not read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens::cli {

/// Returns `tokenizer` if it is given, else the one in the model's folder, else bytes. Throws what
/// load_tokenizer() throws.
std::shared_ptr<const Tokenizer> tokenizer_for(const std::string& model, const std::string& tokenizer);

/// Says on stderr that a file has the name of a built-in tokenizer, if one has and that one is asked for.
void say_hidden_tokenizer(const std::string& tokenizer);

/// Prints on stderr what was left out of a text, as read_documents() returns it.
void say_left_out(const std::vector<std::string>& left_out);

}  // namespace shardlens::cli
