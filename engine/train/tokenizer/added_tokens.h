// Added tokens, which stand beside a vocabulary: <|endoftext|>, [MASK], names that a user added. A text is
// cut at them before it is processed in any other way, as in Hugging Face's tokenizers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/io/json.h"
#include "engine/train/tokenizer/token_trie.h"
#include "engine/train/tokenizer/vocabulary.h"

namespace shardlens {

struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool special = true;      ///< represents no text: decoding leaves it out
  bool normalized = false;  ///< searched for in the normalised text, in its own normalised form
};

class AddedTokens {
 public:
  /// Converts a text as the tokenizer does before it cuts words. Empty: the text stays as it is.
  using Normalize = std::function<std::string(std::string_view)>;

  AddedTokens() = default;
  /// Texts and ids must differ. `source` is the file's name in errors.
  AddedTokens(std::vector<AddedToken> tokens, Normalize normalize, const std::string& source);

  const std::vector<AddedToken>& all() const { return tokens_; }  ///< longest first
  const AddedToken* find(std::string_view text) const;            ///< null: none
  const AddedToken* find(int32_t id) const;                       ///< null: none

  /// The text that a token adds to a decoded text: none if it is special, else its own, normalised if it is
  /// searched for in that form.
  std::string decoded(const AddedToken& token) const;

  /// Calls on_text for the normalised text between added tokens and on_token for the tokens, in order. If
  /// several tokens begin at the same place, the longest counts. Tokens that are not normalised come first,
  /// wherever they are in the text.
  void split(std::string_view text, const std::function<void(std::string_view)>& on_text,
             const std::function<void(int32_t)>& on_token) const;

 private:
  std::vector<AddedToken> tokens_;
  std::unordered_map<int32_t, size_t> by_id_;
  Normalize normalize_;
  TokenTrie literal_, normalized_;
};

/// Reads the list "added_tokens" of a tokenizer.json. A token of `vocabulary` must have its id there, and all
/// others the ids that follow, in order: Hugging Face's tokenizers give these and do not look at the file's.
/// Throws a request Error for other ids, and for tokens that also take the white space next to them or match
/// only whole words.
AddedTokens read_added_tokens(ObjectReader& tokenizer_json, const Vocabulary& vocabulary,
                              AddedTokens::Normalize normalize);

}  // namespace shardlens
