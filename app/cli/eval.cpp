// `eval`: measures perplexity and cloze accuracy, or for a BERT the masked words that it finds, sharded over
// T ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/options.h"
#include "app/cli/text_options.h"
#include "app/cli/verbs.h"
#include "app/command_line/live_line.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/config/presets.h"
#include "engine/io/json_text.h"
#include "engine/io/text_lines.h"
#include "engine/train/checkpoint.h"
#include "engine/train/data/json_lines.h"
#include "engine/train/data/train_data.h"
#include "engine/train/data/wikitext.h"
#include "engine/train/evaluation.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kOverlap = 32;  // or a whole window if that is shorter

struct EvalOptions {
  CommonOptions common;
  std::string text, cloze, tokenizer;
  int64_t overlap = kOverlap, words = 0;
  bool wikitext = false, clean = false;
  CLI::Option *seq = nullptr, *overlap_option = nullptr;
};

EvaluationProgress progress(const char* what) {
  return [what, line = std::make_shared<LiveLine>(stderr)](int64_t done, int64_t all) {
    if (done == all) return line->clear();
    if (line->is_due()) line->show(fmt::format("{}: pass {} of {}", what, done, all));
  };
}

// A model that was trained here has learned only the positions of its training sequences.
int64_t usual_sequence(const std::string& folder, const Model& model) {
  return !folder.empty() && is_checkpoint(folder) ? read_training_state(folder).settings.seq
                                                  : model.positions;
}

// Perplexity is that of a whole text. JSON lines are many, with quotes and braces that nobody wrote.
std::string read_plain_text(const EvalOptions& o) {
  const std::string text = read_text(o.text);
  if (has_name_of_json_lines(o.text) || begins_as_json(text))
    throw request_error(fmt::format(
        "--text {} holds JSON, but perplexity is measured on a plain text: jq -r .text writes one", o.text));
  TextsForModel texts(o.common.model, o.clean);
  std::string read = texts.read(text);
  texts.say_changes("--text " + o.text);
  return read;
}

std::vector<ClozeText> read_cloze(const EvalOptions& o) {
  std::vector<std::string> left_out;
  std::vector<ClozeText> cloze = read_cloze_file(o.cloze, left_out);
  say_left_out(left_out);
  TextsForModel texts(o.common.model, o.clean);
  for (ClozeText& one : cloze) one.text = texts.read(one.text);
  texts.say_changes("--cloze " + o.cloze);
  return cloze;
}

// exp(nats), or its exponent if it is larger than any number.
std::string perplexity_text(double nats) {
  const double perplexity = std::exp(nats);
  if (!std::isfinite(perplexity)) return fmt::format("e^{:.1f}", nats);
  return perplexity < 1e9 ? fmt::format("{:.4f}", perplexity) : fmt::format("{:.4e}", perplexity);
}

void evaluate_bert(const EvalOptions& o, const Settings& settings, const Tokenizer& tokenizer,
                   ordered_json& json) {
  std::vector<std::string> left_out;
  const auto text = tokenise(o.text, tokenizer, left_out);
  say_left_out(left_out);
  const MaskedWords m = evaluate_masked_words(settings, tokenizer, text, progress("masked words"));
  const double word_loss = m.nats / static_cast<double>(m.tokens);
  const double order_loss = m.order_nats / static_cast<double>(m.rows);
  json["masked_accuracy"] = m.accuracy();
  json["word_loss"] = word_loss;
  json["masked_tokens"] = m.tokens;
  json["order_accuracy"] = m.order_accuracy();
  json["order_loss"] = order_loss;
  json["rows"] = m.rows;
  if (o.common.json) return;
  fmt::print("masked words: {:.2f}% of {} hidden tokens found, {:.4f} nats each\n", 100 * m.accuracy(),
             grouped_text(m.tokens), word_loss);
  fmt::print("sentence order: {:.2f}% of {} rows of {} right, {:.4f} nats each\n", 100 * m.order_accuracy(),
             grouped_text(m.rows), settings.seq, order_loss);
}

int run_eval(EvalOptions o) {
  if (o.text.empty() && o.cloze.empty())
    throw request_error(
        "nothing to evaluate on: give --text FILE for perplexity, --cloze FILE.jsonl for accuracy, or both");
  if (o.words < 0)
    throw request_error(fmt::format("--words {}: give 1 or more, or 0 to count them", o.words));
  Settings settings = to_settings(o.common);
  if (o.seq->count() == 0) settings.seq = usual_sequence(folder_of_model(o.common.model), settings.model);
  if (settings.seq < 1) throw request_error(fmt::format("--seq {}: give 1 or more", settings.seq));
  if (o.overlap_option->count() == 0) o.overlap = std::min(kOverlap, settings.seq);
  const auto tokenizer = tokenizer_for(o.common.model, o.tokenizer);
  // Read before anything is computed, so that a bad file is reported now and not after minutes.
  const bool masks = settings.model.objective == Objective::MaskedWords;
  const std::vector<ClozeText> cloze = o.cloze.empty() ? std::vector<ClozeText>() : read_cloze(o);
  std::string text = o.text.empty() || masks ? std::string() : read_plain_text(o);
  say_untrained(settings);
  ordered_json json = {
      {"model", settings.model.title}, {"ranks", settings.tp}, {"tokenizer", tokenizer->name()}};
  if (!o.text.empty() && masks) {
    evaluate_bert(o, settings, *tokenizer, json);
  } else if (!o.text.empty()) {
    const int64_t words = o.words > 0 ? o.words : original_tokens(text);
    if (o.wikitext) text = undo_wikitext(text);
    const Perplexity p =
        evaluate_perplexity(settings, *tokenizer, text, o.overlap, words, progress("perplexity"));
    json["perplexity"] = p.perplexity;
    json["token_perplexity"] = p.per_token;
    json["nats"] = p.nats;
    json["tokens"] = p.tokens;
    json["words"] = p.words;
    if (!o.common.json) {
      fmt::print(
          "perplexity {} over {} words ({} tokens, {} each; {:.4f} nats per token), windows of {} "
          "advancing by {}\n",
          perplexity_text(p.nats / static_cast<double>(p.words)), grouped_text(p.words),
          grouped_text(p.tokens), perplexity_text(p.nats / static_cast<double>(p.tokens)),
          p.nats / static_cast<double>(p.tokens), settings.seq, o.overlap);
    }
  }
  if (!o.cloze.empty()) {
    const Cloze c = evaluate_cloze(settings, *tokenizer, cloze, progress("cloze"));
    json["cloze_accuracy"] = c.accuracy();
    json["cloze_correct"] = c.correct;
    json["cloze_examples"] = c.examples;
    if (!o.common.json)
      fmt::print("cloze accuracy {:.2f}%: {} of {} last words\n", 100 * c.accuracy(), c.correct, c.examples);
  }
  if (o.common.json) fmt::print("{}\n", json_text(json));
  return 0;
}

}  // namespace

Verb add_eval(CLI::App& app) {
  auto o = std::make_shared<EvalOptions>();
  o->common.batch = 1;
  add_model_options(app, o->common);
  o->seq = app.get_option("--seq");
  const std::string group = "Evaluation";
  app.add_option("--text", o->text, "FILE whose perplexity is measured; for a BERT its masked words")
      ->group(group);
  app.add_flag(
         "--wikitext", o->wikitext,
         "--text is a WikiText file (wiki.test.tokens): its marks and its spaces around punctuation are "
         "removed before the model reads it; words and line ends are counted before that")
      ->group(group);
  app.add_flag(
         "--clean", o->clean,
         "Cleans the text first as data and train do. They always do for a model that was trained here, "
         "and for a BERT; the text of another model is read as it is unless this is given")
      ->group(group);
  app.add_option("--cloze", o->cloze, "FILE.jsonl of objects with \"text\", whose last words are predicted")
      ->group(group);
  app.add_option("--tokenizer", o->tokenizer,
                 "bytes, or a tokenizer's file or folder; the model folder's own if left out")
      ->group(group);
  o->overlap_option =
      app.add_option("--overlap", o->overlap, "Tokens a window advances by, the only ones scored")
          ->group(group)
          ->capture_default_str();
  app.add_option("--words", o->words,
                 "Original tokens the cross-entropy is divided by; 0: the text's words and line ends")
      ->group(group)
      ->capture_default_str();
  app.footer(R"(
Examples
  shardlens-cli eval --model run/ --text held-out.txt --tp 2
  shardlens-cli eval --model gpt2/ --text wiki.test.tokens --wikitext --batch 4
  shardlens-cli eval --model bert-run/ --text held-out.txt --batch 8  masked words, sentence order
  shardlens-cli eval --model gpt2/ --cloze lambada.jsonl --batch 4
)");
  return [o, &app] {
    refuse_without_effect(app, {"--micro-batches", "--recompute", "--dropout"}, "nothing is learned");
    return run_eval(*o);
  };
}

}  // namespace shardlens::cli
