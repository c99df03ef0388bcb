// In place of SentencePiece where the program is built without it: its tokenizers are refused, and so is
// learning a WordPiece vocabulary, which its trainer does.
#include "engine/base/error.h"
#include "engine/train/tokenizer/sentencepiece_tokenizer.h"
#include "engine/train/tokenizer/wordpiece_training.h"

namespace sentencepiece {
class SentencePieceProcessor {};
}  // namespace sentencepiece

namespace shardlens {
namespace {

[[noreturn]] void refuse_it(const std::string& what) {
  throw request_error(what +
                      " needs SentencePiece, which a page does not have: take the tokenizer \"bytes\" or "
                      "a folder with a vocab.txt or GPT-2's vocab.json, or the program on a desktop");
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::string, const std::string& source) {
  refuse_it(source);
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

std::shared_ptr<const SentencePieceTokenizer> SentencePieceTokenizer::train(const std::vector<std::string>&,
                                                                            int32_t) {
  refuse_it("learning a SentencePiece vocabulary");
}

int32_t SentencePieceTokenizer::vocab_size() const {
  refuse("count");
}

uint64_t SentencePieceTokenizer::fingerprint() const {
  refuse("read");
}

std::optional<int32_t> SentencePieceTokenizer::end_of_text() const {
  refuse("read");
}

std::optional<int32_t> SentencePieceTokenizer::special(std::string_view) const {
  refuse("read");
}

std::vector<int32_t> SentencePieceTokenizer::encode(std::string_view) const {
  refuse("encode");
}

std::string SentencePieceTokenizer::piece(int32_t) const {
  refuse("read");
}

std::string SentencePieceTokenizer::decode(std::span<const int32_t>) const {
  refuse("decode");
}

void SentencePieceTokenizer::refuse(const char*) const {
  refuse_it(source_);
}

std::string train_wordpiece(const std::vector<std::string>&, int32_t) {
  refuse_it("learning a WordPiece vocabulary");
}

}  // namespace shardlens
