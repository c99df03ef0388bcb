// Learning pieces from a text with SentencePiece's trainer: its BPE, single-threaded, so that the same text
// gives the same pieces.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace shardlens {

/// The bytes of a .model file. `texts` are cut into lines, each with the line end it has; `options` are
/// SentencePiece's own, beside those that every use shares. Throws a request Error when the text is too small
/// for `vocab_size` entries.
std::string train_sentencepiece(const std::vector<std::string>& texts, int32_t vocab_size,
                                std::unordered_map<std::string, std::string> options);

}  // namespace shardlens
