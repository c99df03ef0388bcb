// Measures how well a model predicts a given text, as in the paper's Appendix E: perplexity over overlapping
// windows, normalised by the text's own words, and cloze accuracy on last words. For a BERT: how many hidden
// words it finds. Forward passes of a planned Program, sharded like a training step.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/train/data/token_file.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

/// Called with the number of passes done and of all passes.
using EvaluationProgress = std::function<void(int64_t done, int64_t all)>;

struct Perplexity {
  int64_t tokens = 0;     ///< scored tokens
  int64_t words = 0;      ///< T_o of the paper: the normaliser
  double nats = 0;        ///< sum of the cross-entropies
  double perplexity = 0;  ///< exp(nats / words)
  double per_token = 0;   ///< exp(nats / tokens)
};

/// Counts the words and line ends of a text, as WikiText's word-level tokenisation does. Its perplexities are
/// normalised by this count, whatever tokenizer a model has.
int64_t original_tokens(const std::string& text);

/// Computes the perplexity of a text. The window of settings.seq tokens advances by `overlap`. Only the last
/// `overlap` tokens are scored; in the first window all tokens are. If the tokenizer has an end-of-text
/// token, one is put before the first token, so that the first token is scored too. `words` = 0:
/// original_tokens(text). Throws a request Error for an empty text, a tokenizer that does not fit the model,
/// or an overlap that no window can have.
Perplexity evaluate_perplexity(const Settings& settings, const Tokenizer& tokenizer, const std::string& text,
                               int64_t overlap, int64_t words, const EvaluationProgress& on_progress = {});

/// How well a BERT does its training task: sums over one epoch of BertSamples.
struct MaskedWords {
  int64_t rows = 0;
  int64_t tokens = 0, tokens_found = 0;  ///< hidden tokens, and those whose likeliest token is right
  double nats = 0;                       ///< sum of the hidden tokens' cross-entropies
  int64_t orders_found = 0;              ///< rows whose sentence order was found
  double order_nats = 0;

  double accuracy() const { return static_cast<double>(tokens_found) / static_cast<double>(tokens); }
  double order_accuracy() const { return static_cast<double>(orders_found) / static_cast<double>(rows); }
};

/// Hides words and swaps parts as settings.seed determines. Throws a request Error for a GPT, and for a
/// tokenizer or a text that does not fit.
MaskedWords evaluate_masked_words(const Settings& settings, const Tokenizer& tokenizer,
                                  const std::shared_ptr<const TokenFile>& text,
                                  const EvaluationProgress& on_progress = {});

struct Cloze {
  int64_t examples = 0, correct = 0;
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(examples); }
};

/// A text whose last word is to be predicted, and its place for errors ("lambada.jsonl, line 7").
struct ClozeText {
  std::string text, where;
};

/// Computes the cloze accuracy. The last word of each text must be predicted from the words before it: each
/// of its tokens must be the likeliest one given the tokens before (teacher forcing). A context longer than
/// settings.seq loses its beginning. Throws a request Error with the text's place if the text has no last
/// word, or one that is longer than a window.
Cloze evaluate_cloze(const Settings& settings, const Tokenizer& tokenizer,
                     const std::vector<ClozeText>& texts, const EvaluationProgress& on_progress = {});

/// Reads the texts of a JSON-lines file, in which each line is an object with "text". Throws what
/// read_documents() throws, and adds to `left_out` what it returns.
std::vector<ClozeText> read_cloze_file(const std::string& path, std::vector<std::string>& left_out);

}  // namespace shardlens
