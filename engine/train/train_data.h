// The text a training run reads: what `data` prepared, a token file, or a plain text that is tokenised first.
#pragma once

#include <memory>
#include <string>

#include "engine/train/token_file.h"
#include "engine/train/tokenizer.h"

namespace shardlens {

struct TrainData {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const TokenFile> train, validation;  ///< validation may be null
};

/// `where`: a corpus that `data` prepared, a *.tokens file, or what read_documents() reads. `tokenizer` as
/// load_tokenizer() takes it; empty: the corpus' own, else bytes. Throws a request Error when there is
/// nothing at `where`, nothing to learn from, or it was tokenised otherwise.
TrainData open_train_data(const std::string& where, const std::string& tokenizer);

/// A small text that travels inside the programs, as bytes: for a first run on any machine.
TrainData open_built_in_text();
inline constexpr const char* kBuiltInText = "Genesis, King James Version (built in)";

}  // namespace shardlens
