// A corpus made ready for training: a folder with the tokenizer (in a folder of its own), three token files
// (train, validation, test) and corpus.json, which says how it came to be and is written last, so that a
// preparation that was broken off leaves no folder that looks whole.
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
  std::vector<std::string> sources;  ///< files, folders or "sample", as documents.h reads them
  std::string tokenizer =
      "bytes";  ///< as load_tokenizer(); "sentencepiece:N", "wordpiece:N": (at most) N entries are learned
  int64_t shortest_tokens = 128;  ///< shorter documents are dropped (section 4.1 of the paper)
  double jaccard = 0.7;           ///< near-duplicates above it are dropped; 1 keeps all
  double validation = 0.05;       ///< of the documents
  double test = 0.05;
  uint64_t seed = 1234;  ///< decides which documents go where
};

struct SplitCounts {
  int64_t documents = 0, tokens = 0;
};

/// What preparing did, in numbers.
struct CorpusReport {
  int64_t documents_read = 0, documents_short = 0, documents_duplicate = 0;
  int64_t documents_cleaned = 0;  ///< clean_text() changed something
  int64_t text_bytes = 0;         ///< of the documents kept, after cleaning
  std::string tokenizer;
  int32_t vocab_size = 0;
  double unigram_entropy_nats =
      0;  ///< per token of the train split: what a model that ignores context reaches
  SplitCounts train, validation, test;
};

/// Its numbers under their own names, as corpus.json and the command line give them.
nlohmann::ordered_json to_json(const CorpusReport& report);

struct CorpusProgress {
  std::string phase;                  ///< "learning the vocabulary", "encoding"
  int64_t bytes_read = 0, bytes = 0;  ///< bytes == 0: not known
  int64_t documents = 0;
};

/// Reads, cleans, filters, splits and encodes into `folder`, which is made if it is not there. Every document
/// ends with the tokenizer's end of text if it has one. The same options and text give the same bytes. Throws
/// a request Error if nothing is left to learn from, saying why, or if the folder holds something else.
CorpusReport prepare_corpus(const CorpusOptions& options, const std::string& folder,
                            const std::function<void(const CorpusProgress&)>& on_progress = {});

/// A prepared corpus, opened.
struct Corpus {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const TokenFile> train;
  std::shared_ptr<const TokenFile> validation, test;  ///< null if the share asked for was 0
};

/// All that prepare_corpus() may write into its folder, by path from there.
std::vector<std::string> corpus_files();

/// True if prepare_corpus() finished in `folder`.
bool is_corpus(const std::string& folder);

/// Throws a request Error if the folder holds no whole corpus or its files do not belong together. `name` is
/// what errors call its token files where the folder is a temporary one; empty: their paths.
Corpus open_corpus(const std::string& folder, const std::string& name = {});

/// -sum p ln p over the ids of a file.
double unigram_entropy_nats(const TokenFile& file);

}  // namespace shardlens
