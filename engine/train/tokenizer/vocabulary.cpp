// Reads the vocabulary of a tokenizer's JSON file.
#include "engine/train/tokenizer/vocabulary.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"

namespace shardlens {

int32_t read_token_id(const nlohmann::json& id, const std::string& token, const std::string& where) {
  if (id.is_number_integer() && id >= 0 && id <= kLargestTokenId) return id.get<int32_t>();
  const std::string found = id.is_structured() ? fmt::format("({})", id.type_name()) : shown(json_text(id));
  throw request_error(fmt::format("{}: the token {} has the id {}; ids are whole numbers from 0 to {}", where,
                                  shown(token), found, kLargestTokenId));
}

Vocabulary read_vocabulary(const nlohmann::json& vocabulary, const std::string& where) {
  if (!vocabulary.is_object())
    throw request_error(fmt::format("{} must be an object of \"token\": id", where));
  Vocabulary tokens;
  std::unordered_map<int32_t, const std::string*> owners;
  for (auto at = vocabulary.begin(); at != vocabulary.end(); ++at) {
    const int32_t id = read_token_id(at.value(), at.key(), where);
    const auto [owner, is_new] = owners.emplace(id, &at.key());
    if (!is_new)
      throw request_error(fmt::format("{}: the tokens {} and {} both have the id {}", where,
                                      shown(*owner->second), shown(at.key()), id));
    tokens.emplace(at.key(), id);
  }
  return tokens;
}

}  // namespace shardlens
