// The text a training run reads: what `data` prepared, a token file, or a plain text that is tokenised first.
#pragma once

#include <memory>
#include <string>

#include "engine/config/settings.h"
#include "engine/train/data/token_file.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

struct TrainData {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const TokenFile> train, validation;  ///< validation may be null
};

/// How a text is tokenised for a model when nobody says how: with the tokenizer in the model's folder if it
/// is one that has one; else as bytes for a GPT, and for a BERT, which hides whole words, with a WordPiece
/// vocabulary that is learned from the text, as large as the model's. As CorpusOptions::tokenizer.
std::string usual_tokenizer(const Model& model);

/// `where`: a corpus that `data` prepared, a *.tokens file, or what read_documents() reads. `tokenizer` as
/// CorpusOptions::tokenizer, for a *.tokens file as load_tokenizer() takes it; empty: the corpus' own, for a
/// text usual_tokenizer(), else bytes. Throws a request Error when there is nothing at `where`, nothing to
/// learn from, or it was tokenised otherwise.
TrainData open_train_data(const std::string& where, const std::string& tokenizer, const Model& model);

/// All of a text, tokenised, in one file that is gone once nobody holds it. `where` as read_documents().
std::shared_ptr<const TokenFile> tokenise(const std::string& where, const Tokenizer& tokenizer);

/// A small text that travels inside the programs, for a first run on any machine.
TrainData open_built_in_text(const Model& model);
inline constexpr const char* kBuiltInText = "Genesis, King James Version (built in)";

}  // namespace shardlens
