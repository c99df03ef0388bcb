// Continues a text from a prompt: chooses tokens one after the other until there are enough or the text ends.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/train/generate/generator.h"
#include "engine/train/generate/sampling.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

/// Why a text ended.
enum class WritingEnd { Tokens, EndOfText, Positions, Stopped };
/// "tokens", "end of text", "positions", "stopped".
std::string to_string(WritingEnd end);

struct Writing {
  std::string text;  ///< the generated text, without the prompt
  std::vector<int32_t> token_ids;
  int64_t prompt_tokens = 0;
  double prompt_seconds = 0;  ///< until the first token could be chosen
  double seconds = 0;         ///< from there to the end
  WritingEnd end = WritingEnd::Tokens;
};

/// The prompt's ids. For an empty prompt it is the end-of-text token, after which a new text begins. Throws a
/// request Error if the tokenizer has none.
std::vector<int32_t> prompt_tokens(const std::string& prompt, const Tokenizer& tokenizer);

/// Throws a request Error unless the model has an id for every id of the tokenizer.
void require_room_for_ids(const Tokenizer& tokenizer, const Model& model);

/// Feeds `prompt` and generates at most `most` tokens after it. `on_piece` gets the text of each token, and
/// stops the writing if it returns false. Throws what Generator::feed() throws.
Writing write_on(Generator& generator, const Tokenizer& tokenizer, const std::vector<int32_t>& prompt,
                 int64_t most, const Sampling& sampling,
                 const std::function<bool(const std::string& piece)>& on_piece);

}  // namespace shardlens
