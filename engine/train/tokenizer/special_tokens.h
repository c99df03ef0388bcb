// Special tokens, which appear in a text by name and are never cut: <|endoftext|>, [MASK]. They are found
// before any other processing of the text, as in Hugging Face's tokenizers.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace shardlens {

/// The largest id that a file's token may have, because tables are as long as the largest id.
inline constexpr int64_t kLargestTokenId = (int64_t{1} << 24) - 1;

struct SpecialToken {
  std::string text;
  int32_t id = 0;
};

class SpecialTokens {
 public:
  SpecialTokens() = default;
  explicit SpecialTokens(std::vector<SpecialToken> tokens);

  const std::vector<SpecialToken>& all() const { return tokens_; }
  const SpecialToken* find(std::string_view text) const;
  bool contains(int32_t id) const;

  /// Calls on_text for the text between special tokens and on_token for the tokens, in order. If several
  /// tokens begin at the same place, the longest counts.
  void split(std::string_view text, const std::function<void(std::string_view)>& on_text,
             const std::function<void(int32_t)>& on_token) const;

 private:
  std::vector<SpecialToken> tokens_;  // longest first
};

/// Reads the list "added_tokens" of a tokenizer.json. `source` is the file's name in errors. Throws a request
/// Error for tokens that also take the white space next to them or match only whole words.
SpecialTokens read_added_tokens(const nlohmann::json& tokenizer_json, const std::string& source);

}  // namespace shardlens
