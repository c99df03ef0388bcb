// Opens a SentencePiece model that anybody may have made. The library trusts a model: some it only refuses in
// its own words, others end the program. So a model is checked here before the library sees it.
#pragma once

#include <memory>
#include <string>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace shardlens {

/// The library's logs do not reach the user. Its default prints even news.
void silence_sentencepiece();

/// From the bytes of a .model file. Throws a request Error that names `source` if they are no model, or one
/// that the library cannot process safely.
std::unique_ptr<sentencepiece::SentencePieceProcessor> open_sentencepiece(const std::string& model,
                                                                          const std::string& source);

}  // namespace shardlens
