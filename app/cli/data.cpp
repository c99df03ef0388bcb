// `data`: prepares a corpus for training, and shows how a tokenizer cuts a text into tokens.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/options.h"
#include "app/cli/text_options.h"
#include "app/cli/verbs.h"
#include "app/command_line/live_line.h"
#include "app/command_line/outputs.h"
#include "app/command_line/request.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/json_text.h"
#include "engine/train/data/corpus.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

struct DataOptions {
  CorpusOptions corpus;
  std::string out, show;
  bool json = false;
};

std::string words_of(const CorpusProgress& progress) {
  const std::string read = bytes_text(static_cast<double>(progress.bytes_read));
  const std::string share = progress.bytes > 0
                                ? fmt::format("{:3.0f}% of {}",
                                              100.0 * static_cast<double>(progress.bytes_read) /
                                                  static_cast<double>(progress.bytes),
                                              bytes_text(static_cast<double>(progress.bytes)))
                                : read;
  return fmt::format("{}: {}, {} documents", progress.phase, share, grouped_text(progress.documents));
}

void print(const CorpusReport& report, const DataOptions& options) {
  fmt::print("{} documents read, {} of them cleaned of bad Unicode or line ends\n",
             grouped_text(report.documents_read), grouped_text(report.documents_cleaned));
  fmt::print("  {:>10}  dropped: shorter than {} tokens\n", grouped_text(report.documents_short),
             options.corpus.shortest_tokens);
  fmt::print("  {:>10}  dropped: near-duplicates (Jaccard above {})\n",
             grouped_text(report.documents_duplicate), options.corpus.jaccard);
  const int64_t tokens = report.train.tokens + report.validation.tokens + report.test.tokens;
  fmt::print("tokenizer {}, {} entries: {:.2f} bytes per token\n\n", report.tokenizer,
             grouped_text(report.vocab_size),
             static_cast<double>(report.text_bytes) / static_cast<double>(tokens));
  fmt::print("{:<12} {:>12} {:>14}\n", "", "documents", "tokens");
  for (const auto& [name, split] :
       {std::pair{"train", report.train}, {"validation", report.validation}, {"test", report.test}})
    fmt::print("{:<12} {:>12} {:>14}\n", name, grouped_text(split.documents), grouped_text(split.tokens));
  fmt::print(
      "\nunigram entropy {:.4f} nats per token (perplexity {:.1f}): a model that ignores the context reaches "
      "this\n"
      "corpus: {}\n",
      report.unigram_entropy_nats, std::exp(report.unigram_entropy_nats), options.out);
}

// Quotes the bytes so that they are visible on one line.
std::string quoted(const std::string& bytes) {
  return json_text(ordered_json(bytes));
}

int show(const DataOptions& options) {
  say_hidden_tokenizer(options.corpus.tokenizer);
  const auto tokenizer = load_tokenizer(options.corpus.tokenizer);
  const std::vector<int32_t> ids = tokenizer->encode(options.show);
  if (options.json) {
    fmt::print("{}\n", json_text(ordered_json{{"tokenizer", tokenizer->name()},
                                              {"vocab_size", tokenizer->vocab_size()},
                                              {"ids", ids},
                                              {"decoded", tokenizer->decode(ids)}}));
    return 0;
  }
  fmt::print("{} tokens of {} ({} entries)\n", ids.size(), tokenizer->name(),
             grouped_text(tokenizer->vocab_size()));
  for (const int32_t id : ids) fmt::print("{:>8}  {}\n", id, quoted(tokenizer->piece(id)));
  return 0;
}

int prepare(const DataOptions& options) {
  if (options.out.empty())
    throw request_error("no folder for the corpus is given: add --out FOLDER, or --show TEXT");
  say_hidden_tokenizer(options.corpus.tokenizer);
  const CorpusReport report = [&] {
    LiveLine line(stderr);
    return prepare_corpus(options.corpus, options.out, [&line](const CorpusProgress& progress) {
      if (line.is_due()) line.show(words_of(progress));
    });
  }();
  say_left_out(report.left_out);
  if (options.json) {
    ordered_json out = {{"out", options.out}};
    out.update(to_json(report));
    fmt::print("{}\n", json_text(out));
  } else {
    print(report, options);
  }
  return 0;
}

}  // namespace

Verb add_data(CLI::App& app) {
  auto options = std::make_shared<DataOptions>();
  CorpusOptions& corpus = options->corpus;
  app.add_option(
         "--text", corpus.sources,
         "Plain text, JSON lines (one \"text\" on each line; told by what the file begins with) or folders "
         "of them; the word sample for the "
         "King James Version. If the tokenizer is not learned, also a pipe such as /dev/stdin: the verb "
         "waits for its writer")
      ->type_name("FILE...");
  app.add_option(
         "--tokenizer", corpus.tokenizer,
         "bytes; sentencepiece:N or wordpiece:N (for BERT) to learn N entries from the text; or a file or "
         "folder with vocab.json and merges.txt, tokenizer.json, vocab.txt or a .model")
      ->capture_default_str();
  app.add_option(
      "--out", options->out,
      "Folder for the corpus: token files, the tokenizer, corpus.json. A corpus in it is replaced");
  app.add_option("--min-tokens", corpus.shortest_tokens, "Shorter documents are dropped")
      ->check(at_least_zero())
      ->capture_default_str();
  app.add_option("--jaccard", corpus.jaccard,
                 "Documents more similar than this to an earlier one are dropped; 1 keeps all")
      ->capture_default_str();
  app.add_option("--validation", corpus.validation, "Share of the documents kept for validation")
      ->capture_default_str();
  app.add_option("--test", corpus.test, "Share of the documents kept for the test")->capture_default_str();
  app.add_option("--seed", corpus.seed, "Seed of the random split of documents")->capture_default_str();
  app.add_option("--show", options->show, "Only show how the tokenizer cuts this text")->type_name(kWords);
  add_overwrite(app);
  app.add_flag("--json", options->json, "One JSON object on stdout, nothing else");
  app.footer(R"(
A plain text is cut into documents at lines <|endoftext|>, at the first blank line after 4 KiB and at the first line end after 8 KiB.
Bad Unicode is repaired: invalid bytes become U+FFFD, UTF-8 that was read as Latin-1 is restored, line ends become LF, control characters are removed, and the rest is composed (NFC).

Examples
  shardlens-cli data --text sample --out corpus                       the sample corpus, as bytes
  shardlens-cli data --text sample --tokenizer sentencepiece:4096 --out corpus
  shardlens-cli data --text books/ more.jsonl --tokenizer gpt2/ --out corpus
                                                                      GPT-2's vocab.json, merges.txt
  shardlens-cli data --tokenizer corpus --show "In the beginning"
)");
  return [options, &app] {
    if (app.count("--show") == 0) return prepare(*options);
    refuse_without_effect(
        app, {"--text", "--out", "--min-tokens", "--jaccard", "--validation", "--test", "--seed"},
        "--show only shows how its own text is cut");
    return show(*options);
  };
}

}  // namespace shardlens::cli
