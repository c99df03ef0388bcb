// How well a model predicts a text that somebody gives, as the paper's Appendix E does it: perplexity over
// overlapping windows normalised by the text's own words, and cloze accuracy on last words; of a BERT, how
// many hidden words it finds. Sharded like everything else: forward passes of a planned Program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/train/data/token_file.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

/// Told the passes done and the passes in all.
using EvaluationProgress = std::function<void(int64_t done, int64_t all)>;

struct Perplexity {
  int64_t tokens = 0;     ///< scored
  int64_t words = 0;      ///< T_o of the paper: the normaliser
  double nats = 0;        ///< the cross-entropies' sum
  double perplexity = 0;  ///< exp(nats / words)
  double per_token = 0;   ///< exp(nats / tokens)
};

/// Words and line ends of a text, as WikiText's word-level tokenisation counts them: what its perplexities
/// are normalised by, whatever tokenizer a model has.
int64_t original_tokens(const std::string& text);

/// The window of settings.seq tokens advances by `overlap`; only the last `overlap` tokens are scored, all of
/// them in the first window. Where the tokenizer has an end of text, one stands before the first token, so
/// that it is scored too. `words` = 0: original_tokens(text). Throws a request Error for an empty text, a
/// tokenizer that does not fit the model, or an overlap that no window has.
Perplexity evaluate_perplexity(const Settings& settings, const Tokenizer& tokenizer, const std::string& text,
                               int64_t overlap, int64_t words, const EvaluationProgress& on_progress = {});

/// How a BERT does what it was trained on: sums over one epoch of BertSamples.
struct MaskedWords {
  int64_t rows = 0;
  int64_t tokens = 0, tokens_found = 0;  ///< hidden, and of them the likeliest token was the right one
  double nats = 0;                       ///< the hidden tokens' cross-entropies' sum
  int64_t orders_found = 0;              ///< of the rows
  double order_nats = 0;

  double accuracy() const { return static_cast<double>(tokens_found) / static_cast<double>(tokens); }
  double order_accuracy() const { return static_cast<double>(orders_found) / static_cast<double>(rows); }
};

/// Words are hidden and parts swapped as settings.seed draws them. Throws a request Error for a GPT, and for
/// a tokenizer or a text that does not fit.
MaskedWords evaluate_masked_words(const Settings& settings, const Tokenizer& tokenizer,
                                  const std::shared_ptr<const TokenFile>& text,
                                  const EvaluationProgress& on_progress = {});

struct Cloze {
  int64_t examples = 0, correct = 0;
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(examples); }
};

/// The last word of each text must be predicted whole from what stands before it, each of its tokens the
/// likeliest given the ones before (teacher forcing). A context longer than settings.seq loses its beginning.
/// Throws a request Error that numbers the text when it has no last word or one that is longer than a window.
Cloze evaluate_cloze(const Settings& settings, const Tokenizer& tokenizer,
                     const std::vector<std::string>& texts, const EvaluationProgress& on_progress = {});

/// The texts of a JSON-lines file, each line an object with "text". Throws a request Error that names file
/// and line.
std::vector<std::string> read_cloze_file(const std::string& path);

}  // namespace shardlens
