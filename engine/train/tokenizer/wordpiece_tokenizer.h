// BERT's tokenizer. Words are cut by bert_words(), and each word is divided from the left into the longest
// pieces that the vocabulary has. Case, accents and spaces are lost: decode() gives words with spaces between
// them.
#pragma once

#include "engine/io/json.h"
#include "engine/train/tokenizer/added_tokens.h"
#include "engine/train/tokenizer/bert_words.h"
#include "engine/train/tokenizer/token_trie.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

class WordPieceTokenizer : public Tokenizer {
 public:
  /// From the text of vocab.txt: one token per line, whose line number is its id. `config_json` is the text
  /// of a tokenizer_config.json (do_lower_case, strip_accents, tokenize_chinese_chars) or empty. Without it
  /// the vocabulary is treated as uncased.
  static std::shared_ptr<const WordPieceTokenizer> from_vocab_txt(const std::string& vocab_txt,
                                                                  const std::string& config_json,
                                                                  const std::string& source);
  /// From a Hugging Face tokenizer.json with the model WordPiece: its `text`, and the same as an object.
  static std::shared_ptr<const WordPieceTokenizer> from_tokenizer_json(const std::string& text,
                                                                       ObjectReader& tokenizer);

  /// Learns an uncased vocabulary of at most `entries`. It holds, in this order: [PAD] (0), [UNK], [CLS],
  /// [SEP], [MASK]; every frequent character as the beginning of a word and as its continuation; and the
  /// pieces that byte-pair merges find inside words. Its file is a vocab.txt in BERT's form. Throws a request
  /// Error if the characters alone need more entries.
  static std::shared_ptr<const WordPieceTokenizer> train(const std::vector<std::string>& texts,
                                                         int32_t entries);

  std::string name() const override { return "wordpiece"; }
  int32_t vocab_size() const override { return static_cast<int32_t>(tokens_.size()); }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::optional<int32_t> end_of_text() const override { return std::nullopt; }
  std::optional<int32_t> special(std::string_view token) const override;
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string piece(int32_t id) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::map<std::string, std::string> files() const override { return files_; }

 private:
  struct Settings {
    BertRules rules;
    std::string continuation = "##";
    std::string unknown = "[UNK]";
    int64_t longest_word = 100;  ///< in characters; a longer word becomes [UNK]
  };
  /// `tokens` by id; empty: no token has the id.
  WordPieceTokenizer(std::vector<std::string> tokens, Settings settings, AddedTokens added,
                     std::map<std::string, std::string> files, const std::string& source);
  void encode_word(const std::string& word, std::vector<int32_t>& ids) const;

  std::vector<std::string> tokens_;  // by id, as they are decoded
  Settings settings_;
  AddedTokens added_;
  TokenTrie pieces_;
  std::optional<TokenTrie::State> continued_;  // where in pieces_ the pieces inside a word are
  int32_t unknown_ = 0;
  uint64_t fingerprint_ = 0;
  std::map<std::string, std::string> files_;
};

}  // namespace shardlens
