// Learns pieces from a text with SentencePiece's trainer: its BPE, single-threaded, so that the same text
// gives the same pieces.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace shardlens {

/// Returns the bytes of a .model file. `texts` are cut into lines, and very long words into parts. `options`
/// are SentencePiece's own, in addition to those that every use shares. Throws a request Error if the text is
/// too small for `vocab_size` entries.
std::string train_sentencepiece(const std::vector<std::string>& texts, int32_t vocab_size,
                                std::unordered_map<std::string, std::string> options);

}  // namespace shardlens
