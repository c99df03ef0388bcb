// The text that a training run reads: a corpus that `data` prepared, a token file, or a plain text that is
// tokenised first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/config/settings.h"
#include "engine/train/data/token_file.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

struct TrainData {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const TokenFile> train, validation;  ///< validation may be null
  std::vector<std::string> left_out;                   ///< sentences to say, as read_documents() returns them
};

/// The default tokenizer of a model's text: the tokenizer in the model's folder if there is one. Otherwise
/// bytes for a GPT; and for a BERT, which hides whole words, a WordPiece vocabulary that is learned from the
/// text and as large as the model's. The value is that of CorpusOptions::tokenizer.
std::string usual_tokenizer(const Model& model);

/// `where`: a corpus that `data` prepared, a token file, or a source of read_documents(). Its bytes tell a
/// token file from a text, whatever its name. `tokenizer` is that of CorpusOptions::tokenizer, or for a token
/// file that of load_tokenizer(). If it is empty: a corpus uses its own, a text uses usual_tokenizer(), and a
/// token file uses bytes. Throws a request Error
/// if `where` does not exist, holds nothing to learn from, or was tokenised with another tokenizer.
TrainData open_train_data(const std::string& where, const std::string& tokenizer, const Model& model);

/// Tokenises a whole text into one temporary file, which is deleted when the result is released. `where` and
/// `left_out` (added to) as in read_documents().
std::shared_ptr<const TokenFile> tokenise(const std::string& where, const Tokenizer& tokenizer,
                                          std::vector<std::string>& left_out);

/// A small text that is embedded in the programs, for a first run on any machine.
TrainData open_built_in_text(const Model& model);
inline constexpr const char* kBuiltInText = "Genesis, King James Version (built in)";

}  // namespace shardlens
