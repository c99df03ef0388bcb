// A tokenizer in which every byte is a token. No vocabulary must be trained, every text can be encoded, and
// the vocabulary is small enough for toy models.
#pragma once

#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

/// Ids 0 to 255 are the bytes; 256 is the end-of-text token. Its file is the tokenizer.json of a byte-level
/// BPE without merges, so that Hugging Face's loaders give the same ids.
class BytesTokenizer : public Tokenizer {
 public:
  static constexpr int32_t kEndOfText = 256;

  /// What <|endoftext|> is in a text. Asked for by the word "bytes", it is its 13 bytes, like every text.
  /// Read from a tokenizer.json, it is the end-of-text token, as for Hugging Face's loaders of this file. The
  /// ids mean the same in both, so their fingerprints are equal.
  enum class NameInText { Bytes, Token };

  explicit BytesTokenizer(NameInText name_in_text = NameInText::Bytes) : name_in_text_(name_in_text) {}

  std::string name() const override { return "bytes"; }
  int32_t vocab_size() const override { return kEndOfText + 1; }
  uint64_t fingerprint() const override;
  std::optional<int32_t> end_of_text() const override { return kEndOfText; }
  std::optional<int32_t> special(std::string_view token) const override;
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string piece(int32_t id) const override;
  std::map<std::string, std::string> files() const override;

 private:
  NameInText name_in_text_;
};

}  // namespace shardlens
