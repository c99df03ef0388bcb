// Learns pieces from a text with SentencePiece's trainer.
#include "engine/train/tokenizer/sentencepiece_training.h"

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/train/tokenizer/sentencepiece_model.h"

namespace shardlens {
namespace {

// A longer word ends the process, as SentencePiece counts its letters in 16 bits. Its pieces have 16 letters
// at most, so that it learns nearly the same from the parts of a word.
constexpr size_t kLongestWordBytes = size_t{1} << 14;
constexpr size_t kLongLineBytes = 500'000;        // a line of twice this length would be skipped
constexpr std::string_view kReserved = "\u2585";  // SentencePiece skips a line that has it

// Returns where the first sentence of `text` ends: with its line, before U+2585, at a space if the line is
// long, in a word if that is long.
size_t sentence_end(std::string_view text) {
  size_t word = 0;
  for (size_t end = 0; end < text.size(); ++end) {
    if (text[end] == '\n' || text.substr(end).starts_with(kReserved)) return end;
    if (text[end] == ' ') {
      if (end >= kLongLineBytes) return end;
      word = end;
    } else if (end - word >= kLongestWordBytes && !is_inside_character(text[end])) {
      return end;
    }
  }
  return text.size();
}

// The sentences of the texts, from which SentencePiece learns.
class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& texts) : texts_(texts) { Next(); }
  bool done() const override { return done_; }
  const std::string& value() const override { return sentence_; }
  sentencepiece::util::Status status() const override { return {}; }
  void Next() override {
    sentence_.clear();
    while (sentence_.empty()) {
      if (text_ == texts_.size()) {
        done_ = true;
        return;
      }
      const std::string_view rest = std::string_view(texts_[text_]).substr(at_);
      const size_t end = sentence_end(rest);
      sentence_ = rest.substr(0, end);
      at_ += end;
      if (rest.substr(end).starts_with('\n')) ++at_;
      if (rest.substr(end).starts_with(kReserved)) at_ += kReserved.size();
      if (at_ >= texts_[text_].size()) at_ = 0, ++text_;
    }
  }

 private:
  const std::vector<std::string>& texts_;
  size_t text_ = 0, at_ = 0;
  std::string sentence_;
  bool done_ = false;
};

// The number behind `words` in SentencePiece's reason; nothing if it gives another one.
std::optional<int64_t> number_after(std::string_view reason, std::string_view words) {
  const size_t at = reason.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  reason.remove_prefix(at + words.size());
  int64_t number = 0;
  const auto read = std::from_chars(reason.data(), reason.data() + reason.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string train_sentencepiece(const std::vector<std::string>& texts, int32_t vocab_size,
                                std::unordered_map<std::string, std::string> options) {
  options.insert({{"model_type", "bpe"},
                  {"vocab_size", std::to_string(vocab_size)},
                  {"character_coverage", "0.9995"},
                  {"normalization_rule_name", "identity"},
                  {"unk_id", "0"},
                  {"bos_id", "-1"},
                  {"eos_id", "-1"},
                  {"pad_id", "-1"},
                  {"num_threads", "1"},
                  {"max_sentence_length", "1000000"}});
  silence_sentencepiece();
  Sentences sentences(texts);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &sentences, &model);
  if (status.ok()) return model;
  const std::string what = fmt::format("SentencePiece cannot learn {} pieces from this text", vocab_size);
  if (const auto most = number_after(status.message(), "a value <= "))
    throw request_error(
        fmt::format("{}: it gives {}; choose a smaller vocabulary or give more text", what, *most));
  if (const auto fewest = number_after(status.message(), fmt::format("{} vs ", vocab_size)))
    throw request_error(
        fmt::format("{}: its characters alone need {}; choose a larger vocabulary", what, *fewest));
  throw request_error(fmt::format("{}; choose a smaller vocabulary or give more text", what));
}

}  // namespace shardlens
