// Computes perplexity, cloze accuracy and masked words with forward passes.
#include "engine/train/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "engine/base/error.h"
#include "engine/io/text_lines.h"
#include "engine/train/data/bert_samples.h"
#include "engine/train/data/json_lines.h"
#include "engine/train/forward_pass.h"

namespace shardlens {
namespace {

// One row of a pass: settings.seq tokens, and the labels of those that are scored.
struct Row {
  std::vector<int32_t> tokens, labels;
};

void check_tokenizer(const Settings& settings, const Tokenizer& tokenizer) {
  if (settings.model.objective != Objective::NextToken) {
    throw request_error(fmt::format("{} is an encoder; perplexity and cloze accuracy need a GPT model",
                                    settings.model.title));
  }
  if (tokenizer.vocab_size() <= settings.model.vocab) return;
  throw request_error(
      fmt::format("the tokenizer {} has {} ids, but the model {} has only {}; give the tokenizer that the "
                  "model was trained with",
                  tokenizer.name(), tokenizer.vocab_size(), settings.model.title, settings.model.vocab));
}

// Runs at most a batch of rows; returns the sum of the labels' cross-entropies.
double run_batch(ForwardPass& pass, std::span<const Row> rows) {
  Batch batch;
  for (const Row& row : rows) {
    batch.tokens.insert(batch.tokens.end(), row.tokens.begin(), row.tokens.end());
    batch.labels.insert(batch.labels.end(), row.labels.begin(), row.labels.end());
  }
  return pass.run(std::move(batch)).nats;
}

// Runs all rows, one batch at a time. `after` gets each batch's first row and the sum of its cross-entropies.
void run_rows(ForwardPass& pass, const std::vector<Row>& rows, const EvaluationProgress& on_progress,
              const std::function<void(size_t, double)>& after) {
  const auto batch = static_cast<size_t>(pass.settings().batch);
  const auto passes = static_cast<int64_t>((rows.size() + batch - 1) / batch);
  for (size_t first = 0; first < rows.size(); first += batch) {
    const size_t end = std::min(rows.size(), first + batch);
    after(first, run_batch(pass, std::span(rows).subspan(first, end - first)));
    if (on_progress) on_progress(static_cast<int64_t>(end + batch - 1) / static_cast<int64_t>(batch), passes);
  }
}

// The window of the text that begins at `start`. Only labels from `scored` on count.
Row window(const std::vector<int32_t>& ids, int64_t start, int64_t seq, int64_t scored) {
  Row row{std::vector<int32_t>(static_cast<size_t>(seq), 0),
          std::vector<int32_t>(static_cast<size_t>(seq), kIgnoredLabel)};
  const auto tokens = static_cast<int64_t>(ids.size());
  for (int64_t i = 0; i < seq && start + i + 1 < tokens; ++i) {
    row.tokens[static_cast<size_t>(i)] = ids[static_cast<size_t>(start + i)];
    if (i >= scored) row.labels[static_cast<size_t>(i)] = ids[static_cast<size_t>(start + i + 1)];
  }
  return row;
}

// The context and the last word of one text, as tokens.
struct Question {
  std::vector<int32_t> ids;
  size_t answer = 0;  ///< where the last word begins
};

Question split_last_word(const Tokenizer& tokenizer, const ClozeText& cloze) {
  const std::string& text = cloze.text;
  constexpr const char* kSpaces = " \t\r\n";
  const size_t end = text.find_last_not_of(kSpaces);
  const size_t space = end == std::string::npos ? end : text.find_last_of(kSpaces, end);
  const size_t before = space == std::string::npos ? space : text.find_last_not_of(kSpaces, space);
  if (before == std::string::npos)
    throw request_error(
        fmt::format("{}: the text has no word before its last one: \"{}\"; give a text of at least two words",
                    cloze.where, text));
  const std::string context = text.substr(0, before + 1);
  Question question;
  question.ids = tokenizer.encode(text.substr(0, end + 1));
  const std::vector<int32_t> beginning = tokenizer.encode(context);
  question.answer = beginning.size();
  const bool apart = beginning.size() < question.ids.size() &&
                     std::equal(beginning.begin(), beginning.end(), question.ids.begin());
  if (apart) return question;
  // If a token spans the space, the word is tokenised on its own.
  const std::vector<int32_t> word = tokenizer.encode(text.substr(space, end + 1 - space));
  question.ids = beginning;
  question.ids.insert(question.ids.end(), word.begin(), word.end());
  return question;
}

}  // namespace

int64_t original_tokens(const std::string& text) {
  constexpr const char* kSpaces = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string::npos) return 0;
  const size_t last = text.find_last_not_of(kSpaces);
  int64_t count = 0;
  bool in_word = false;
  for (size_t i = first; i <= last; ++i) {
    const bool space = std::strchr(kSpaces, text[i]) != nullptr;
    if (text[i] == '\n') ++count;
    if (!space && !in_word) ++count;
    in_word = !space;
  }
  return count;
}

Perplexity evaluate_perplexity(const Settings& settings, const Tokenizer& tokenizer, const std::string& text,
                               int64_t overlap, int64_t words, const EvaluationProgress& on_progress) {
  check_tokenizer(settings, tokenizer);
  if (overlap < 1 || overlap > settings.seq) {
    throw request_error(
        fmt::format("a window of {} tokens cannot advance by {}; choose an overlap from 1 to {}",
                    settings.seq, overlap, settings.seq));
  }
  Perplexity result;
  result.words = words > 0 ? words : original_tokens(text);
  if (result.words == 0) throw request_error("the text is empty; give a text with words");
  std::vector<int32_t> ids = tokenizer.encode(text);
  if (const auto end = tokenizer.end_of_text()) ids.insert(ids.begin(), *end);
  if (ids.size() < 2) throw request_error("the text has a single token; give a longer one");

  const auto targets = static_cast<int64_t>(ids.size()) - 1;
  std::vector<Row> rows{window(ids, 0, settings.seq, 0)};
  for (int64_t start = overlap; start - overlap + settings.seq < targets; start += overlap)
    rows.push_back(window(ids, start, settings.seq, settings.seq - overlap));
  result.tokens = targets;
  ForwardPass pass(settings);
  run_rows(pass, rows, on_progress, [&](size_t, double nats) { result.nats += nats; });
  result.perplexity = std::exp(result.nats / static_cast<double>(result.words));
  result.per_token = std::exp(result.nats / static_cast<double>(result.tokens));
  return result;
}

MaskedWords evaluate_masked_words(const Settings& settings, const Tokenizer& tokenizer,
                                  const std::shared_ptr<const TokenFile>& text,
                                  const EvaluationProgress& on_progress) {
  if (settings.model.objective != Objective::MaskedWords) {
    throw request_error(
        fmt::format("{} predicts the next token; masked words need a BERT model", settings.model.title));
  }
  text->require_vocabulary(settings.model.vocab);
  const BertSamples samples(text, tokenizer, settings.seq, settings.seed);
  const int64_t passes = (samples.count() + settings.batch - 1) / settings.batch;
  ForwardPass pass(settings);
  MaskedWords result;
  LossSums sums;
  for (int64_t i = 0; i < passes; ++i) {
    const int64_t rows = std::min(settings.batch, samples.count() - i * settings.batch);
    Batch batch = samples.rows(i, settings.batch, 0, rows);
    const std::vector<int32_t> labels = batch.labels;
    sums += pass.run(std::move(batch));
    for (size_t place = 0; place < labels.size(); ++place) {
      if (labels[place] != kIgnoredLabel)
        result.tokens_found += pass.likeliest("loss.words", static_cast<int64_t>(place));
    }
    for (int64_t row = 0; row < rows; ++row) result.orders_found += pass.likeliest("loss.sentences", row);
    if (on_progress) on_progress(i + 1, passes);
  }
  result.tokens = sums.tokens;
  result.nats = sums.nats;
  result.rows = sums.orders;
  result.order_nats = sums.order_nats;
  return result;
}

Cloze evaluate_cloze(const Settings& settings, const Tokenizer& tokenizer,
                     const std::vector<ClozeText>& texts, const EvaluationProgress& on_progress) {
  check_tokenizer(settings, tokenizer);
  if (texts.empty()) throw request_error("there is no text to complete; give at least one text");
  std::vector<Row> rows;
  for (const ClozeText& text : texts) {
    const Question question = split_last_word(tokenizer, text);
    const auto tokens = static_cast<int64_t>(question.ids.size());
    const int64_t start = std::max<int64_t>(0, tokens - 1 - settings.seq);
    const int64_t first_asked = static_cast<int64_t>(question.answer) - 1 - start;
    if (first_asked < 0) {
      throw request_error(
          fmt::format("{}: the last word alone is longer than a window of {} tokens; give a longer --seq",
                      text.where, settings.seq));
    }
    rows.push_back(window(question.ids, start, settings.seq, first_asked));
  }
  Cloze result;
  result.examples = static_cast<int64_t>(rows.size());
  ForwardPass pass(settings);
  run_rows(pass, rows, on_progress, [&](size_t first, double) {
    const size_t end = std::min(rows.size(), first + static_cast<size_t>(settings.batch));
    for (size_t i = first; i < end; ++i) {
      bool all = true;
      for (int64_t col = 0; col < settings.seq; ++col) {
        const bool asked = rows[i].labels[static_cast<size_t>(col)] != kIgnoredLabel;
        if (asked && !pass.likeliest("loss", static_cast<int64_t>(i - first) * settings.seq + col))
          all = false;
      }
      result.correct += all;
    }
  });
  return result;
}

std::vector<ClozeText> read_cloze_file(const std::string& path, std::vector<std::string>& left_out) {
  TextLines lines(path);
  JsonLines json(path);
  std::vector<ClozeText> texts;
  for (std::string line; lines.next(line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (auto text = json.document(line, lines.number()))
      texts.push_back({std::move(*text), fmt::format("{}, line {}", path, lines.number())});
  }
  const std::string not_text = json.left_out();
  if (texts.empty())
    throw request_error(
        fmt::format("{} has no lines with a \"text\"{}{}", path, not_text.empty() ? "" : ". ", not_text));
  if (!not_text.empty()) left_out.push_back(not_text);
  return texts;
}

}  // namespace shardlens
