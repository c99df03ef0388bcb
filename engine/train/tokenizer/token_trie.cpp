// Implements the search with ICU's trie of bytes.
#include "engine/train/tokenizer/token_trie.h"

#include <fmt/format.h>
#include <unicode/bytestriebuilder.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"

namespace shardlens {
namespace {

// Walks on from where `trie` is. A match ends where a character ends.
TokenTrie::Match walk(icu::BytesTrie& trie, std::string_view text) {
  TokenTrie::Match match;
  for (size_t at = 0; at < text.size();) {
    const UStringTrieResult result = trie.next(static_cast<uint8_t>(text[at++]));
    if (USTRINGTRIE_HAS_VALUE(result) && (at == text.size() || !is_inside_character(text[at])))
      match = {at, trie.getValue()};
    if (!USTRINGTRIE_HAS_NEXT(result)) break;
  }
  return match;
}

}  // namespace

TokenTrie::TokenTrie(const std::vector<std::pair<std::string, int32_t>>& strings, const std::string& source) {
  if (strings.empty()) return;
  UErrorCode status = U_ZERO_ERROR;
  icu::BytesTrieBuilder builder(status);
  for (const auto& [text, id] : strings) {
    if (text.size() > kLongestTrieBytes)
      throw request_error(fmt::format("{}: the token with the id {} has {} bytes; at most {} are supported",
                                      source, id, text.size(), kLongestTrieBytes));
    builder.add(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), id, status);
    begins_[static_cast<uint8_t>(text[0])] = true;
  }
  trie_.reset(builder.build(USTRINGTRIE_BUILD_FAST, status));
  if (U_FAILURE(status))
    throw run_error(fmt::format("{}: ICU cannot index the tokens: {}", source, u_errorName(status)));
}

TokenTrie::Match TokenTrie::longest(std::string_view text) const {
  if (text.empty() || !begins_[static_cast<uint8_t>(text[0])]) return {};
  icu::BytesTrie trie(*trie_);
  return walk(trie, text);
}

std::optional<TokenTrie::State> TokenTrie::after(std::string_view prefix) const {
  if (!trie_) return std::nullopt;
  icu::BytesTrie trie(*trie_);
  for (const char c : prefix) {
    if (!USTRINGTRIE_MATCHES(trie.next(static_cast<uint8_t>(c)))) return std::nullopt;
  }
  return trie.getState64();
}

TokenTrie::Match TokenTrie::longest(std::string_view text, State state) const {
  icu::BytesTrie trie(*trie_);
  trie.resetToState64(state);
  return walk(trie, text);
}

}  // namespace shardlens
