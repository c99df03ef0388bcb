// Implements SentencePiece BPE with byte fall-back, through its own library.
#include "engine/train/tokenizer/sentencepiece_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "engine/base/error.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/record/sample.h"
#include "engine/train/tokenizer/sentencepiece_model.h"
#include "engine/train/tokenizer/sentencepiece_training.h"

namespace shardlens {
namespace {

constexpr std::string_view kSpaceLetter = "\u2581";  // how SentencePiece writes a space
constexpr int32_t kSmallestVocabulary = 256 + 6 + 1;

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::string model, const std::string& source)
    : model_(std::move(model)), source_(source), processor_(open_sentencepiece(model_, source)) {}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

std::shared_ptr<const SentencePieceTokenizer> SentencePieceTokenizer::train(
    const std::vector<std::string>& texts, int32_t vocab_size) {
  if (vocab_size < kSmallestVocabulary)
    throw request_error(fmt::format(
        "a SentencePiece vocabulary of {} is too small: 256 bytes and 6 special tokens come first; choose at "
        "least {}",
        vocab_size, kSmallestVocabulary));
  std::string model = train_sentencepiece(texts, vocab_size,
                                          {{"byte_fallback", "true"},
                                           {"add_dummy_prefix", "false"},
                                           {"remove_extra_whitespaces", "false"},
                                           {"eos_id", "1"},
                                           {"control_symbols", "[PAD],[CLS],[SEP],[MASK]"}});
  return std::make_shared<SentencePieceTokenizer>(std::move(model), "the trained model");
}

int32_t SentencePieceTokenizer::vocab_size() const {
  return processor_->GetPieceSize();
}

uint64_t SentencePieceTokenizer::fingerprint() const {
  return hash_of_version_1(model_.data(), model_.size());
}

std::optional<int32_t> SentencePieceTokenizer::end_of_text() const {
  const int id = processor_->eos_id();
  return id < 0 ? std::nullopt : std::optional<int32_t>(id);
}

std::optional<int32_t> SentencePieceTokenizer::special(std::string_view token) const {
  const int id = processor_->PieceToId(token);
  return processor_->IsControl(id) ? std::optional<int32_t>(id) : std::nullopt;
}

std::vector<int32_t> SentencePieceTokenizer::encode(std::string_view text) const {
  std::vector<int> ids;
  const auto status = processor_->Encode(text, &ids);
  if (!status.ok()) refuse("cut this text");
  return {ids.begin(), ids.end()};
}

// SentencePiece's own reason is about its code.
void SentencePieceTokenizer::refuse(const char* action) const {
  throw request_error(
      fmt::format("the SentencePiece model {} cannot {}: it gives a character to a piece that "
                  "represents no text; use another model",
                  source_, action));
}

std::string SentencePieceTokenizer::piece(int32_t id) const {
  require_id(id);
  if (processor_->IsControl(id)) return {};
  const std::string& text = processor_->IdToPiece(id);
  if (processor_->IsByte(id))
    return {static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16))};  // <0xHH>
  if (processor_->IsUnknown(id)) return " \u2047 ";
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, kSpaceLetter.size(), kSpaceLetter) == 0) {
      bytes += ' ';
      at += kSpaceLetter.size();
    } else {
      bytes += text[at++];
    }
  }
  return bytes;
}

std::string SentencePieceTokenizer::decode(std::span<const int32_t> ids) const {
  for (const int32_t id : ids) require_id(id);
  std::string text;
  const auto status = processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text);
  if (!status.ok()) refuse("write the text of these ids");
  return text;
}

}  // namespace shardlens
