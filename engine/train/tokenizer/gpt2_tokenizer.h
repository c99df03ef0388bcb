// GPT-2's tokenizer: byte-level BPE over pieces of text. It can encode every byte string and normalises
// nothing, so decode(encode(text)) is text for any bytes.
#pragma once

#include "engine/io/json.h"
#include "engine/train/tokenizer/added_tokens.h"
#include "engine/train/tokenizer/bpe.h"
#include "engine/train/tokenizer/tokenizer.h"
#include "engine/train/tokenizer/vocabulary.h"

namespace shardlens {

class Gpt2Tokenizer : public Tokenizer {
 public:
  /// From the texts of vocab.json ({"token": id}) and merges.txt (one "left right" per line, most frequent
  /// first). <|endoftext|> is special if the vocabulary has it. `source` is the folder's name in errors.
  static std::shared_ptr<const Gpt2Tokenizer> from_vocab_and_merges(const std::string& vocab_json,
                                                                    const std::string& merges_txt,
                                                                    const std::string& source);

  /// From a Hugging Face tokenizer.json of a byte-level BPE: its `text`, and the same as an object. Throws a
  /// request Error that names the part that is not supported: another pre-tokenizer or normalizer, byte
  /// fall-back, prefixes or suffixes of sub-words.
  static std::shared_ptr<const Gpt2Tokenizer> from_tokenizer_json(const std::string& text,
                                                                  ObjectReader& tokenizer);

  std::string name() const override { return "gpt2-bpe"; }
  int32_t vocab_size() const override { return static_cast<int32_t>(pieces_.size()); }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::optional<int32_t> end_of_text() const override;
  std::optional<int32_t> special(std::string_view token) const override;
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string piece(int32_t id) const override;
  std::map<std::string, std::string> files() const override { return files_; }

 private:
  Gpt2Tokenizer(const Vocabulary& vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
                AddedTokens added, bool add_prefix_space, std::map<std::string, std::string> files,
                const std::string& source);

  std::vector<std::string> pieces_;  // bytes by id; empty for special tokens and unused ids
  AddedTokens added_;
  bool add_prefix_space_;
  Bpe bpe_;
  uint64_t fingerprint_ = 0;
  std::map<std::string, std::string> files_;
};

}  // namespace shardlens
