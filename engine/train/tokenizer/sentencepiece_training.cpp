// Learns pieces from a text with SentencePiece's trainer.
#include "engine/train/tokenizer/sentencepiece_training.h"

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include <algorithm>

#include "engine/config/error.h"

namespace shardlens {
namespace {

// The lines of the texts, because SentencePiece learns from sentences.
class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& texts) : texts_(texts) { Next(); }
  bool done() const override { return done_; }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }
  void Next() override {
    line_.clear();
    while (line_.empty()) {
      if (text_ == texts_.size()) {
        done_ = true;
        return;
      }
      const std::string& text = texts_[text_];
      const size_t end = std::min(text.find('\n', at_), text.size());
      line_ = text.substr(at_, end - at_);
      at_ = end + 1;
      if (at_ >= text.size()) at_ = 0, ++text_;
    }
  }

 private:
  const std::vector<std::string>& texts_;
  size_t text_ = 0, at_ = 0;
  std::string line_;
  bool done_ = false;
};

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
                  {"max_sentence_length", "1000000"},
                  {"minloglevel", "2"}});
  Lines lines(texts);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &lines, &model);
  if (status.ok()) return model;
  throw request_error(
      fmt::format("SentencePiece cannot learn {} pieces from this text ({}); choose a smaller vocabulary "
                  "or give more text",
                  vocab_size, status.message()));
}

}  // namespace shardlens
