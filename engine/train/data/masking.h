// Chooses the tokens of a BERT sample that are hidden: whole words, in n-grams of one to three (section 4.2
// of the Megatron-LM paper; spans of whole words after Joshi et al. 2019, lengths with probabilities
// proportional to 1/n after Lan et al. 2019).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/train/data/draws.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

/// Finds where words begin in a row of tokens, from the text of the tokens. A word begins at white space and
/// ASCII punctuation, and after them. A word of more than eight tokens (a script without spaces) counts as
/// several words.
class WordStarts {
 public:
  explicit WordStarts(const Tokenizer& tokenizer);

  /// Positions of words' first tokens, in order; the first is 0 unless there are no tokens.
  std::vector<int32_t> of(std::span<const int32_t> tokens) const;

 private:
  std::vector<bool> begins_apart_, ends_apart_;  // by id
};

/// Tokens [begin, begin + count), `words` whole words.
struct MaskedSpan {
  int32_t begin = 0, count = 0, words = 0;
};

/// Chooses spans that do not overlap, in random order. The words are taken in random order, and an n-gram
/// begins at each. Its n is 1, 2 or 3 with probabilities 6/11, 3/11 and 2/11. If it does not fit, the n-gram
/// is the longest shorter one that fits into the rest of the `budget` tokens, into the row, and between the
/// spans chosen before. `word_starts` are those of WordStarts::of() for a row of `tokens` tokens.
std::vector<MaskedSpan> choose_spans(const std::vector<int32_t>& word_starts, int32_t tokens, int32_t budget,
                                     Draws& draws);

}  // namespace shardlens
