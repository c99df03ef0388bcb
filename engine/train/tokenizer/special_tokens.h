// Tokens that are written in a text by name and are never cut: <|endoftext|>, [MASK]. They are found before
// anything else is done to the text, as Hugging Face's tokenizers do.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace shardlens {

/// No file's token has a larger number: tables are as long as the largest.
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

  /// Calls on_text for the stretches of `text` between special tokens and on_token for those, in order. Of
  /// tokens that begin at one place the longest is meant.
  void split(std::string_view text, const std::function<void(std::string_view)>& on_text,
             const std::function<void(int32_t)>& on_token) const;

 private:
  std::vector<SpecialToken> tokens_;  // longest first
};

/// Reads the list "added_tokens" of a tokenizer.json; `source` names the file in errors. Throws a request
/// Error for tokens that also swallow white space beside them or match only whole words.
SpecialTokens read_added_tokens(const nlohmann::json& tokenizer_json, const std::string& source);

}  // namespace shardlens
