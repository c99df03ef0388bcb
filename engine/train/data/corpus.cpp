// Prepares and opens a corpus.
#include "engine/train/data/corpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/io/file_problem.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"
#include "engine/io/signal_cleanup.h"
#include "engine/train/data/documents.h"
#include "engine/train/data/near_duplicates.h"
#include "engine/train/data/windows.h"
#include "engine/train/tokenizer/clean_text.h"
#include "engine/train/tokenizer/sentencepiece_tokenizer.h"
#include "engine/train/tokenizer/wordpiece_tokenizer.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;
using Progress = std::function<void(const CorpusProgress&)>;

constexpr std::string_view kSentencePiece = "sentencepiece:", kWordPiece = "wordpiece:";  // learned
constexpr size_t kLearnedTextBytes = size_t{64} << 20;  // a vocabulary learned from more text is no better
constexpr const char* kFacts = "corpus.json";
constexpr const char* kTokenizer = "tokenizer";
constexpr const char* kStaged = "documents.tokens";
constexpr const char* kTrain = "train.tokens";
constexpr const char* kValidation = "validation.tokens";
constexpr const char* kTest = "test.tokens";
// All files of a corpus, including those during its preparation.
constexpr std::array<std::string_view, 6> kFiles = {kFacts, kTokenizer, kStaged, kTrain, kValidation, kTest};
constexpr int kFactsVersion = 1;

std::string join_path(const std::string& folder, const char* file) {
  return (fs::path(folder) / file).string();
}

void check(const CorpusOptions& options) {
  if (options.sources.empty())
    throw request_error("a corpus needs a text; give --text FILE or --text sample");
  const bool shares_fit =
      options.validation >= 0 && options.test >= 0 && options.validation + options.test < 1;
  if (!shares_fit)
    throw request_error(
        fmt::format("validation {} and test {} must be shares of the documents: at least 0, together below 1",
                    options.validation, options.test));
  if (!(options.jaccard > 0 && options.jaccard <= 1))
    throw request_error(fmt::format("a Jaccard similarity of {} is not possible; choose above 0, at most 1",
                                    options.jaccard));
}

// Calls on_document for every cleaned document of every source. Returns what was left out.
std::vector<std::string> for_each_document(
    const CorpusOptions& options, const std::string& phase, const Progress& on_progress,
    const std::function<void(std::string&&, bool changed)>& on_document) {
  CorpusProgress progress{phase, 0, 0, 0};
  for (const std::string& source : options.sources) progress.bytes += source_bytes(source);
  std::vector<std::string> left_out;
  int64_t before = 0;
  for (const std::string& source : options.sources) {
    int64_t read = 0;
    const std::vector<std::string> of_source =
        read_documents(source, [&](const std::string& document, int64_t bytes_read) {
          std::string cleaned = clean_text(document);
          const bool changed = cleaned != document;
          on_document(std::move(cleaned), changed);
          read = bytes_read;
          progress.bytes_read = before + read;
          ++progress.documents;
          if (on_progress) on_progress(progress);
        });
    left_out.insert(left_out.end(), of_source.begin(), of_source.end());
    before += read;
  }
  return left_out;
}

std::shared_ptr<const Tokenizer> make_tokenizer(const CorpusOptions& options, const Progress& on_progress) {
  const bool word_piece = options.tokenizer.starts_with(kWordPiece);
  if (!word_piece && !options.tokenizer.starts_with(kSentencePiece)) return load_tokenizer(options.tokenizer);
  const std::string number = options.tokenizer.substr((word_piece ? kWordPiece : kSentencePiece).size());
  int32_t vocab_size = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), vocab_size);
  if (error != std::errc() || end != number.data() + number.size())
    throw request_error(fmt::format("\"{}\" has no valid vocabulary size; write for example {}8000",
                                    shown(options.tokenizer), word_piece ? kWordPiece : kSentencePiece));
  for (const std::string& source : options.sources) require_many_reads(source);
  std::vector<std::string> texts;
  size_t bytes = 0;
  for_each_document(options, "learning the vocabulary", on_progress, [&](std::string&& document, bool) {
    if (bytes >= kLearnedTextBytes) return;
    bytes += document.size();
    texts.push_back(std::move(document));
  });
  try {
    if (word_piece) return WordPieceTokenizer::train(texts, vocab_size);
    return SentencePieceTokenizer::train(texts, vocab_size);
  } catch (const Error& failure) {  // it does not know where the texts are from
    throw Error(failure.kind(), fmt::format("{}: {}", fmt::join(options.sources, ", "), failure.what()));
  }
}

// Writes all documents that are kept, in order, into one file.
void stage(const CorpusOptions& options, const Tokenizer& tokenizer, const std::string& path,
           const Progress& on_progress, CorpusReport& report) {
  TokenFileWriter writer(path, tokenizer);
  NearDuplicates duplicates(options.jaccard);
  int64_t longest = 0;
  report.left_out =
      for_each_document(options, "encoding", on_progress, [&](std::string&& document, bool changed) {
        ++report.documents_read;
        report.documents_cleaned += changed;
        std::vector<int32_t> ids = tokenizer.encode(document);
        const auto tokens = static_cast<int64_t>(ids.size());
        longest = std::max(longest, tokens);
        if (tokens < options.shortest_tokens) {
          ++report.documents_short;
          return;
        }
        if (options.jaccard < 1 && duplicates.seen(document)) {
          ++report.documents_duplicate;
          return;
        }
        report.text_bytes += static_cast<int64_t>(document.size());
        if (const auto end = tokenizer.end_of_text()) ids.push_back(*end);
        writer.add(ids);
      });
  const std::string sources = fmt::format("{}", fmt::join(options.sources, ", "));
  if (report.documents_read == 0)
    throw request_error(fmt::format("there is no text in {}: the corpus is empty{}{}", sources,
                                    report.left_out.empty() ? "" : ". ", fmt::join(report.left_out, ". ")));
  if (writer.documents() == 0)
    throw request_error(
        fmt::format("no document is left of the {} in {}: each has fewer than {} tokens (the longest {}); "
                    "give more text or lower --min-tokens",
                    report.documents_read, sources, options.shortest_tokens, longest));
  writer.commit();
}

constexpr OutputKind kFactsFile{"the corpus.json of a corpus that data prepared",
                                [](std::string_view beginning, std::string_view) {
                                  return beginning.find("\"shortest_tokens\"") != std::string_view::npos;
                                },
                                Existing::Replaced, true};
// Those of an earlier corpus, which this process may have read.
constexpr OutputKind kOldTokens{kTokensFile.title, kTokensFile.is_one, Existing::Replaced, true};

// Checks that no text is a file that the corpus would replace.
void check_sources(const CorpusOptions& options, const std::string& folder) {
  std::error_code unknown;
  for (const std::string& source : options.sources)
    for (const std::string& file : corpus_files())
      if (fs::equivalent(source, fs::path(folder) / file, unknown))
        throw request_error(fmt::format(
            "cannot prepare a corpus in {}: it would replace {}, which is the text; give another folder",
            folder, source));
}

// Checks that the folder may be used: it is empty or new, or holds a corpus or the rest of an interrupted
// preparation.
void check_place(const std::string& folder) {
  std::error_code none;
  require_replaceable(join_path(folder, kFacts), kFactsFile);
  for (const char* file : {kStaged, kTrain, kValidation, kTest})
    require_replaceable(join_path(folder, file), kOldTokens);
  if (fs::exists(join_path(folder, kFacts), none)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    const bool ours = std::any_of(kFiles.begin(), kFiles.end(), [&](std::string_view file) {
      return name == file || name.starts_with(std::string(file) + ".");  // half-written ones are longer
    });
    // The tokenizer is written last, so one without a text is not from here.
    const bool is_alone = name == kTokenizer && !fs::exists(join_path(folder, kTrain), none);
    if (ours && !is_alone) continue;
    throw request_error(
        fmt::format("{} is not empty and is no corpus ({}, and no {}); give a new or an empty folder", folder,
                    name, kFacts));
  }
}

// The outermost folder in the path `folder` that does not exist yet; empty if all exist.
fs::path first_missing(const std::string& folder) {
  fs::path missing;
  std::error_code unknown;
  for (fs::path at = fs::absolute(folder).lexically_normal();
       !fs::exists(at, unknown) && at.has_relative_path(); at = at.parent_path())
    if (at.has_filename()) missing = at;
  return missing;
}

// Removes the corpus's files in `folder`, and the folders that are then empty, from `folder` up to
// `outermost`. Does nothing if `outermost` is empty. What somebody else put there stays.
void remove_made(const std::string& folder, const fs::path& outermost) {
  if (outermost.empty()) return;
  std::error_code ignored;
  const std::vector<std::string> files = corpus_files();
  for (auto file = files.rbegin(); file != files.rend(); ++file)
    fs::remove(fs::path(folder) / *file, ignored);
  for (fs::path at = fs::absolute(folder).lexically_normal(); at.has_relative_path(); at = at.parent_path()) {
    if (at.has_filename()) fs::remove(at, ignored);
    if (at == outermost) break;
  }
}

// The files that must not remain after a signal: the documents' file and, if the folder is made for this
// corpus, everything in it.
std::list<SignalCleanup> unfinished(const std::string& folder, const fs::path& outermost) {
  std::list<SignalCleanup> parts;
  parts.emplace_back(join_path(folder, kStaged));
  if (outermost.empty()) return parts;
  for (const std::string& file : corpus_files()) parts.emplace_back((fs::path(folder) / file).string());
  for (fs::path at = fs::absolute(folder).lexically_normal(); at.has_relative_path(); at = at.parent_path()) {
    if (at.has_filename()) parts.emplace_back(at.string());
    if (at == outermost) break;
  }
  return parts;
}

// The numbers of documents for validation and test.
struct Shares {
  int64_t validation = 0, test = 0;
};

// A share above 0 gets at least one document, and so does train.
Shares shares(const CorpusOptions& options, int64_t documents) {
  const auto of = [&](double share) {
    return share == 0 ? 0 : std::max<int64_t>(1, std::llround(share * static_cast<double>(documents)));
  };
  const Shares found{of(options.validation), of(options.test)};
  if (found.validation + found.test >= documents)
    throw request_error(
        fmt::format("{} cannot be divided into train, validation and test; give more text, or set "
                    "--validation 0 --test 0",
                    counted(documents, "document")));
  return found;
}

void split(const CorpusOptions& options, const Shares& shares, const Tokenizer& tokenizer,
           const TokenFile& staged, const std::string& folder, CorpusReport& report) {
  TokenFileWriter train_file(join_path(folder, kTrain), tokenizer);
  std::optional<TokenFileWriter> validation_file, test_file;
  if (shares.validation > 0) validation_file.emplace(join_path(folder, kValidation), tokenizer);
  if (shares.test > 0) test_file.emplace(join_path(folder, kTest), tokenizer);
  const int64_t documents = staged.documents();
  for (int64_t i = 0; i < documents; ++i) {
    const auto place = static_cast<int64_t>(
        shuffled(static_cast<uint64_t>(i), static_cast<uint64_t>(documents), options.seed, 0));
    TokenFileWriter& file = place < shares.test                       ? *test_file
                            : place < shares.test + shares.validation ? *validation_file
                                                                      : train_file;
    file.add(staged.document(i));
  }
  const auto finish = [](TokenFileWriter& file) {
    file.commit();
    return SplitCounts{file.documents(), file.tokens(), file.hash()};
  };
  report.train = finish(train_file);
  if (validation_file) report.validation = finish(*validation_file);
  if (test_file) report.test = finish(*test_file);
}

// As text, because a number of 64 bits is not exact in every reader of JSON.
std::string hash_text(uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

uint64_t hash_of_text(const std::string& text) {
  uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (error != std::errc() || end != text.data() + text.size())
    throw request_error(fmt::format("\"{}\" is no hash", shown(text)));
  return hash;
}

constexpr const char* kPrepareAgain = "prepare the corpus again with shardlens-cli data";

// What corpus.json says of a split; zeros if it says nothing.
SplitCounts described(const nlohmann::json& facts, const std::string& facts_path, const char* split) {
  SplitCounts counts;
  ObjectReader all(facts, facts_path);
  if (!all.has(split)) return counts;
  ObjectReader reader(all.child(split), fmt::format("{}, \"{}\"", facts_path, split));
  counts.documents = reader.integer("documents");
  counts.tokens = reader.integer("tokens");
  if (reader.has("hash")) counts.hash = reader.word("hash", hash_of_text);  // older ones have none
  return counts;
}

// A folder into which two runs wrote at once, or two were copied, holds files that do not belong together.
void require_described(const TokenFile& file, const nlohmann::json& facts, const std::string& facts_path,
                       const char* split) {
  const SplitCounts said = described(facts, facts_path, split);
  const auto differs = [&](const std::string& what, const auto& has, const auto& wanted) {
    throw request_error(fmt::format("{}: {} {}, but {} says {}; these files do not belong together: {}",
                                    file.name(), what, has, facts_path, wanted, kPrepareAgain));
  };
  if (file.documents() != said.documents) differs("documents", file.documents(), said.documents);
  if (file.tokens() != said.tokens) differs("tokens", file.tokens(), said.tokens);
  if (said.hash != 0 && file.hash() != said.hash)
    differs("the hash", hash_text(file.hash()), hash_text(said.hash));
}

nlohmann::ordered_json facts(const CorpusOptions& options, const CorpusReport& report) {
  nlohmann::ordered_json json = {{"version", kFactsVersion},
                                 {"sources", options.sources},
                                 {"shortest_tokens", options.shortest_tokens},
                                 {"jaccard", options.jaccard},
                                 {"seed", options.seed}};
  json.update(to_json(report));
  return json;
}

}  // namespace

nlohmann::ordered_json to_json(const CorpusReport& report) {
  const auto counts = [](const SplitCounts& split) {
    return nlohmann::ordered_json{
        {"documents", split.documents}, {"tokens", split.tokens}, {"hash", hash_text(split.hash)}};
  };
  return {{"tokenizer", report.tokenizer},
          {"vocab_size", report.vocab_size},
          {"documents_read", report.documents_read},
          {"documents_cleaned", report.documents_cleaned},
          {"documents_short", report.documents_short},
          {"documents_duplicate", report.documents_duplicate},
          {"text_bytes", report.text_bytes},
          {"unigram_entropy_nats", report.unigram_entropy_nats},
          {"train", counts(report.train)},
          {"validation", counts(report.validation)},
          {"test", counts(report.test)},
          {"left_out", report.left_out}};
}

std::vector<std::string> corpus_files() {
  std::vector<std::string> files(kFiles.begin(), kFiles.end());
  for (const std::string_view file : kTokenizerFiles) files.push_back((fs::path(kTokenizer) / file).string());
  return files;
}

CorpusReport prepare_corpus(const CorpusOptions& options, const std::string& folder,
                            const Progress& on_progress) {
  check(options);
  check_sources(options, folder);
  check_place(folder);
  const fs::path made = first_missing(folder);
  CorpusReport report;
  const std::string staged_path = join_path(folder, kStaged);
  std::optional<OutputFolder> place;
  std::list<SignalCleanup> parts;
  try {
    place.emplace(folder);
    check_place(folder);  // another run may have ended in the meantime
    parts = unfinished(folder, made);
    const std::shared_ptr<const Tokenizer> tokenizer = make_tokenizer(options, on_progress);
    report.tokenizer = tokenizer->name();
    report.vocab_size = tokenizer->vocab_size();
    stage(options, *tokenizer, staged_path, on_progress, report);
    const TokenFile staged(staged_path);
    const Shares found = shares(options, staged.documents());
    // From here on the folder holds no complete corpus until corpus.json is written again.
    for (const char* file : {kFacts, kTrain, kValidation, kTest}) fs::remove(join_path(folder, file));
    split(options, found, *tokenizer, staged, folder, report);
    fs::remove(staged_path);
    report.unigram_entropy_nats = unigram_entropy_nats(TokenFile(join_path(folder, kTrain)));
    save_tokenizer(*tokenizer, join_path(folder, kTokenizer));
    write_file_atomically(join_path(folder, kFacts), kFactsFile, json_text(facts(options, report), 1) + "\n");
  } catch (...) {
    if (!place) throw;
    std::error_code ignored;
    fs::remove(staged_path, ignored);
    place.reset();  // its lock may be in a folder that is removed
    remove_made(folder, made);
    throw;
  }
  return report;
}

bool is_corpus(const std::string& folder) {
  return fs::is_regular_file(join_path(folder, kFacts));
}

Corpus open_corpus(const std::string& folder, const std::string& name) {
  if (!is_corpus(folder))
    throw request_error(
        fmt::format("{} holds no corpus (no {}); prepare one with shardlens-cli data --text FILE --out {}",
                    folder, kFacts, folder));
  const std::string facts_path = join_path(folder, kFacts);
  const nlohmann::json facts = read_json_file(facts_path);
  if (ObjectReader(facts, facts_path).integer("version") != kFactsVersion)
    throw request_error(
        fmt::format("{} does not have version {}; prepare the corpus again", facts_path, kFactsVersion));
  Corpus corpus;
  corpus.tokenizer = load_tokenizer(join_path(folder, kTokenizer));
  const auto open = [&](const char* file) {
    const auto tokens = std::make_shared<const TokenFile>(join_path(folder, file), name);
    tokens->require(*corpus.tokenizer);
    return tokens;
  };
  corpus.train = open(kTrain);
  require_described(*corpus.train, facts, facts_path, "train");
  for (const auto& [file, key, target] :
       {std::tuple{kValidation, "validation", &corpus.validation}, {kTest, "test", &corpus.test}}) {
    std::error_code unknown;
    if (!fs::exists(join_path(folder, file), unknown)) {
      if (described(facts, facts_path, key).documents > 0)
        throw request_error(fmt::format("{} is missing, though {} describes it; {}", join_path(folder, file),
                                        facts_path, kPrepareAgain));
      continue;
    }
    *target = open(file);
    require_described(**target, facts, facts_path, key);
  }
  return corpus;
}

double unigram_entropy_nats(const TokenFile& file) {
  std::vector<int64_t> counts(static_cast<size_t>(file.source().vocab_size));
  for (int64_t i = 0; i < file.documents(); ++i) {
    for (const int32_t id : file.document(i)) ++counts[static_cast<size_t>(id)];
  }
  double entropy = 0;
  for (const int64_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(file.tokens());
    entropy -= share * std::log(share);
  }
  return entropy;
}

}  // namespace shardlens
