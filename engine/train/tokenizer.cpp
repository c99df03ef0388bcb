// Text to token ids and back: what all tokenizers share, and which one lies where.
#include "engine/train/tokenizer.h"

#include <fmt/format.h>

#include "engine/config/error.h"
#include "engine/train/bytes_tokenizer.h"

namespace shardlens {

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += piece(id);
  return text;
}

void Tokenizer::require_id(int32_t id) const {
  if (id >= 0 && id < vocab_size()) return;
  throw request_error(fmt::format("token {} lies outside the vocabulary of the tokenizer {}: ids are 0 to {}",
                                  id, name(), vocab_size() - 1));
}

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& where) {
  if (where == "bytes") return std::make_shared<BytesTokenizer>();
  throw request_error(fmt::format("no tokenizer at {}; choose bytes", where));
}

}  // namespace shardlens
