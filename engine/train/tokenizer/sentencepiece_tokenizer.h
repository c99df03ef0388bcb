// SentencePiece BPE with byte fall-back, through its own library: trained on the user's text, or read from a
// model file.
#pragma once

#include "engine/train/tokenizer/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace shardlens {

class SentencePieceTokenizer : public Tokenizer {
 public:
  /// From the bytes of a .model file. Throws a request Error that names `source` if they are not valid, also
  /// where SentencePiece itself would crash.
  SentencePieceTokenizer(std::string model, const std::string& source);
  ~SentencePieceTokenizer() override;

  /// Learns a vocabulary of exactly `vocab_size` entries. They include <unk> (0), </s> (1, ends a text),
  /// BERT's [PAD], [CLS], [SEP] and [MASK], and the 256 bytes for text that the learned pieces do not cover.
  /// Nothing is normalised, and no space is added or lost. So valid UTF-8 is unchanged by encode and decode,
  /// except that U+2581 becomes a space. The same text gives the same vocabulary. Throws a request Error if
  /// the text is too small for the vocabulary, or the vocabulary too small for the bytes.
  static std::shared_ptr<const SentencePieceTokenizer> train(const std::vector<std::string>& texts,
                                                             int32_t vocab_size);

  std::string name() const override { return "sentencepiece"; }
  int32_t vocab_size() const override;
  uint64_t fingerprint() const override;
  std::optional<int32_t> end_of_text() const override;
  std::optional<int32_t> special(std::string_view token) const override;
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string piece(int32_t id) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::map<std::string, std::string> files() const override { return {{"tokenizer.model", model_}}; }

 private:
  [[noreturn]] void refuse(const char* action) const;

  std::string model_;
  std::string source_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace shardlens
