// Learns a WordPiece vocabulary from a text. SentencePiece finds the pieces of BERT's own words by byte-pair
// merges and marks those that begin a word; WordPiece marks the others. The merges are in the order in which
// they were made, so a shorter vocabulary is the beginning of a longer one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardlens {

/// Returns the text of a vocab.txt of at most `entries` tokens: what WordPieceTokenizer::train() describes,
/// with the same errors.
std::string train_wordpiece(const std::vector<std::string>& texts, int32_t entries);

}  // namespace shardlens
