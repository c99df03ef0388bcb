// Shared by the verbs that read or write text: finds the tokenizer for a model.
#pragma once

#include <memory>
#include <string>

#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens::cli {

/// Returns `tokenizer` if it is given, else the one in the model's folder, else bytes. Throws what
/// load_tokenizer() throws.
std::shared_ptr<const Tokenizer> tokenizer_for(const std::string& model, const std::string& tokenizer);

}  // namespace shardlens::cli
