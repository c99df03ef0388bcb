// Generates a text token by token.
#include "engine/train/generate/writing.h"

#include <fmt/format.h>

#include "engine/config/clock.h"
#include "engine/config/error.h"

namespace shardlens {

std::string to_string(WritingEnd end) {
  switch (end) {
    case WritingEnd::Tokens:
      return "tokens";
    case WritingEnd::EndOfText:
      return "end of text";
    case WritingEnd::Positions:
      return "positions";
    case WritingEnd::Stopped:
      return "stopped";
  }
  return {};
}

std::vector<int32_t> prompt_tokens(const std::string& prompt, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids = tokenizer.encode(prompt);
  if (ids.empty() && tokenizer.end_of_text()) ids.push_back(*tokenizer.end_of_text());
  if (ids.empty())
    throw request_error(
        "the prompt is empty, and this tokenizer has no end-of-text token to begin from; give a prompt");
  return ids;
}

void require_room_for_ids(const Tokenizer& tokenizer, const Model& model) {
  if (tokenizer.vocab_size() <= model.vocab) return;
  throw request_error(
      fmt::format("the tokenizer {} has {} ids, but {} has only {}; give the tokenizer of the model",
                  tokenizer.name(), tokenizer.vocab_size(), model.title, model.vocab));
}

Writing write_on(Generator& generator, const Tokenizer& tokenizer, const std::vector<int32_t>& prompt,
                 int64_t most, const Sampling& sampling,
                 const std::function<bool(const std::string& piece)>& on_piece) {
  Writing writing;
  writing.prompt_tokens = static_cast<int64_t>(prompt.size());
  const double begin = now_seconds();
  generator.feed(prompt);
  const double fed = now_seconds();
  writing.prompt_seconds = fed - begin;
  std::vector<double> likely;
  generator.write([&](const std::vector<double>& logits) -> std::optional<int32_t> {
    // Ids beyond the tokenizer's have no text.
    likely.assign(logits.begin(), logits.begin() + tokenizer.vocab_size());
    const int32_t next = choose_token(likely, sampling, generator.length());
    if (next == tokenizer.end_of_text()) {
      writing.end = WritingEnd::EndOfText;
      return std::nullopt;
    }
    writing.token_ids.push_back(next);
    const std::string piece = tokenizer.piece(next);
    writing.text += piece;
    if (!on_piece(piece)) {
      writing.end = WritingEnd::Stopped;
      return std::nullopt;
    }
    if (static_cast<int64_t>(writing.token_ids.size()) == most) return std::nullopt;
    if (generator.length() == generator.capacity()) {
      writing.end = WritingEnd::Positions;
      return std::nullopt;
    }
    return next;
  });
  writing.seconds = now_seconds() - fed;
  return writing;
}

}  // namespace shardlens
