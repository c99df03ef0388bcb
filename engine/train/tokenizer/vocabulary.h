// The vocabulary of a tokenizer's JSON file: {"token": id}.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

namespace shardlens {

/// The largest id that a file's token may have, because tables are as long as the largest id.
inline constexpr int64_t kLargestTokenId = (int64_t{1} << 22) - 1;

using Vocabulary = std::unordered_map<std::string, int32_t>;

/// Reads {"token": id}. Ids can have holes, as in Hugging Face's tokenizers. Throws a request Error that
/// names `where` and the token for what is no id, or the id of two tokens.
Vocabulary read_vocabulary(const nlohmann::json& vocabulary, const std::string& where);

/// Returns a token's id: a whole number from 0 to kLargestTokenId. Throws a request Error that names `where`
/// and the token.
int32_t read_token_id(const nlohmann::json& id, const std::string& token, const std::string& where);

}  // namespace shardlens
