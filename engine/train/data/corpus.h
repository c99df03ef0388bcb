// A corpus prepared for training: a folder with the tokenizer (in a folder of its own), three token files
// (train, validation, test) and corpus.json, which describes how it was made. corpus.json is written last, so
// that an interrupted preparation leaves no folder that looks complete.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/data/token_file.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

struct CorpusOptions {
  std::vector<std::string> sources;  ///< files, folders or "sample", as in documents.h
  std::string tokenizer =
      "bytes";  ///< as load_tokenizer(); "sentencepiece:N", "wordpiece:N": (at most) N entries are learned
  int64_t shortest_tokens = 128;  ///< shorter documents are dropped (section 4.1 of the paper)
  double jaccard = 0.7;           ///< near-duplicates above this similarity are dropped; 1 keeps all
  double validation = 0.05;       ///< of the documents
  double test = 0.05;
  uint64_t seed = 1234;  ///< determines the part that each document goes to
};

struct SplitCounts {
  int64_t documents = 0, tokens = 0;
  uint64_t hash = 0;  ///< TokenFile::hash(); 0: there is no file
};

/// The result of a preparation, in numbers.
struct CorpusReport {
  int64_t documents_read = 0, documents_short = 0, documents_duplicate = 0;
  int64_t documents_cleaned = 0;  ///< documents that clean_text() changed
  int64_t text_bytes = 0;         ///< of the documents kept, after cleaning
  std::string tokenizer;
  int32_t vocab_size = 0;
  double unigram_entropy_nats =
      0;  ///< per token of the train split: the loss of a model that ignores context
  SplitCounts train, validation, test;
  std::vector<std::string> left_out;  ///< sentences, as read_documents() returns them
};

/// The report as JSON, as in corpus.json and on the command line.
nlohmann::ordered_json to_json(const CorpusReport& report);

struct CorpusProgress {
  std::string phase;                  ///< "learning the vocabulary", "encoding"
  int64_t bytes_read = 0, bytes = 0;  ///< bytes == 0: total not known
  int64_t documents = 0;
};

/// Reads, cleans, filters, splits and encodes into `folder`, which is made if it does not exist. Every
/// document ends with the tokenizer's end-of-text token if it has one. The same options and text give the
/// same bytes. Throws a request Error if no document is left to learn from, with the reason, if the folder
/// holds other files, or if another run writes there.
CorpusReport prepare_corpus(const CorpusOptions& options, const std::string& folder,
                            const std::function<void(const CorpusProgress&)>& on_progress = {});

/// A prepared corpus, opened.
struct Corpus {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const TokenFile> train;
  std::shared_ptr<const TokenFile> validation, test;  ///< null if its share was 0
};

/// All files that prepare_corpus() can write, by their path in its folder.
std::vector<std::string> corpus_files();

/// True if prepare_corpus() finished in `folder`.
bool is_corpus(const std::string& folder);

/// Opens a prepared corpus. Throws a request Error if the folder holds no complete corpus, or if its files do
/// not belong together: not those that corpus.json describes. `name` is the name of the token files in errors
/// if the folder is a temporary one; empty: their paths.
Corpus open_corpus(const std::string& folder, const std::string& name = {});

/// -sum p ln p over the ids of a file.
double unigram_entropy_nats(const TokenFile& file);

}  // namespace shardlens
