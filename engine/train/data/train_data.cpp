// Opens token files, or makes them in a temporary folder.
#include "engine/train/data/train_data.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"
#include "engine/config/assets.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_kind.h"
#include "engine/io/temporary_folder.h"
#include "engine/train/data/corpus.h"
#include "engine/train/data/documents.h"
#include "engine/train/tokenizer/clean_text.h"

namespace shardlens {
namespace {

// Prepares the text like a corpus but drops no document, because the user named this text. One document in
// twenty is for validation if there are two or more.
TrainData prepare(const std::string& where, const std::string& tokenizer) {
  require_many_reads(where);
  int64_t documents = 0;
  read_documents(where, [&](const std::string&, int64_t) { ++documents; });
  CorpusOptions options;
  options.sources = {where};
  options.tokenizer = tokenizer;
  options.shortest_tokens = 1;
  options.jaccard = 1;
  options.test = 0;
  if (documents < 2) options.validation = 0;
  const TemporaryFolder folder(corpus_files());
  CorpusReport report = prepare_corpus(options, folder.path());
  const Corpus corpus = open_corpus(folder.path(), where);
  return {corpus.tokenizer, corpus.train, corpus.validation, std::move(report.left_out)};
}

}  // namespace

std::string usual_tokenizer(const Model& model) {
  if (has_tokenizer(model.name)) return model.name;
  return model.objective == Objective::NextToken ? "bytes" : fmt::format("wordpiece:{}", model.vocab);
}

std::shared_ptr<const TokenFile> tokenise(const std::string& where, const Tokenizer& tokenizer,
                                          std::vector<std::string>& left_out) {
  const TemporaryFolder folder({"text.tokens"});
  const std::string path = folder.path_of("text.tokens");
  TokenFileWriter writer(path, tokenizer);
  const std::vector<std::string> found = read_documents(where, [&](const std::string& document, int64_t) {
    std::vector<int32_t> ids = tokenizer.encode(clean_text(document));
    if (const auto end = tokenizer.end_of_text()) ids.push_back(*end);
    writer.add(ids);
  });
  left_out.insert(left_out.end(), found.begin(), found.end());
  writer.commit();
  return std::make_shared<const TokenFile>(path, where);
}

TrainData open_built_in_text(const Model& model) {
  const TemporaryFolder folder({"genesis.txt"});
  const std::string path = folder.path_of("genesis.txt");
  write_file_atomically(path, kOwnFile, std::string(asset("text/genesis.txt")));
  return open_train_data(path, {}, model);
}

TrainData open_train_data(const std::string& where, const std::string& tokenizer, const Model& model) {
  if (kind_of_file(where) == FileKind::Tokens) {
    TrainData data{load_tokenizer(tokenizer.empty() ? "bytes" : tokenizer),
                   std::make_shared<const TokenFile>(where),
                   nullptr,
                   {}};
    data.train->require(*data.tokenizer);
    return data;
  }
  if (!is_corpus(where)) return prepare(where, tokenizer.empty() ? usual_tokenizer(model) : tokenizer);
  const Corpus corpus = open_corpus(where);
  if (!tokenizer.empty()) corpus.train->require(*load_tokenizer(tokenizer));
  return {corpus.tokenizer, corpus.train, corpus.validation, {}};
}

}  // namespace shardlens
