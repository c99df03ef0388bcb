// Tokenizers convert text to token ids and back. There is one interface with four implementations: bytes,
// GPT-2's byte-level BPE, SentencePiece and WordPiece. One function detects which of them a folder holds.
//
// A tokenizer does not change after construction and can be used from several threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardlens {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::string name() const = 0;    ///< "bytes", "gpt2-bpe", "sentencepiece" or "wordpiece"
  virtual int32_t vocab_size() const = 0;  ///< ids are in [0, vocab_size)
  /// Equal for equal vocabularies and rules. Files hold it, so every version must give the same one.
  virtual uint64_t fingerprint() const = 0;
  virtual std::optional<int32_t> end_of_text() const = 0;  ///< ends a document in a stream of tokens, if any

  /// The id of a token that stands beside the text's own, by its name: <|endoftext|>, </s>, [CLS], [MASK].
  virtual std::optional<int32_t> special(std::string_view token) const = 0;

  /// Token ids of `text`, without ids that begin or end a sequence. Accepts any bytes, including invalid
  /// UTF-8.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;

  /// The bytes that one id adds to a text. They are not always whole characters, because a character can span
  /// several ids. A special token adds nothing.
  virtual std::string piece(int32_t id) const = 0;

  /// The text of `ids`: their pieces, one after the other. If words bring a space before them, the first
  /// word's space is left out.
  virtual std::string decode(std::span<const int32_t> ids) const;

  /// Contents by file name. Written into a folder, load_tokenizer() reads the same tokenizer from them.
  virtual std::map<std::string, std::string> files() const = 0;

 protected:
  /// Throws a request Error that names the tokenizer unless 0 <= id < vocab_size().
  void require_id(int32_t id) const;
};

/// The tokenizer at `where`: the word "bytes"; a file tokenizer.json, vocab.json, vocab.txt or *.model; or a
/// folder with one of them (searched in this order: tokenizer.json, vocab.json with merges.txt, vocab.txt,
/// tokenizer.model), or with a folder "tokenizer" that has one, as in a prepared corpus. Throws a request
/// Error that lists what was searched for.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& where);

/// True if load_tokenizer() finds one of a tokenizer's files in the folder `where`.
bool has_tokenizer(const std::string& where);

/// The names of all tokenizers' files.
inline constexpr std::array<std::string_view, 6> kTokenizerFiles = {
    "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt", "tokenizer_config.json", "tokenizer.model"};

/// Writes the tokenizer's files into `folder`, which is made if it does not exist, each atomically. Removes
/// the files of another tokenizer, so that load_tokenizer() finds this one.
void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder);

}  // namespace shardlens
