// Learns a WordPiece vocabulary by SentencePiece's trainer.
#include "engine/train/tokenizer/wordpiece_training.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/train/tokenizer/bert_words.h"
#include "engine/train/tokenizer/sentencepiece_model.h"
#include "engine/train/tokenizer/sentencepiece_training.h"

namespace shardlens {
namespace {

constexpr std::string_view kWordBegins = "\u2581";
constexpr int32_t kUsualCharacters = 1000;  // more than the alphabets of most texts have
constexpr int32_t kMetaPieces = 2;  // SentencePiece's own: unknown, and the sign of a word's beginning

// BERT's words with a space between them, one line for each line of the text.
std::vector<std::string> word_lines(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    std::string& lines = out.emplace_back();
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      for (const std::string& word : bert_words(std::string_view(text).substr(at, end - at), {}))
        lines += word + " ";
      lines += '\n';
      at = end + 1;
    }
  }
  return out;
}

bool is_one_character(std::string_view utf8) {
  return character_count(utf8) == 1;
}

// How many different characters the lines have.
int32_t alphabet_size(const std::vector<std::string>& lines) {
  std::array<bool, 256> ascii{};
  std::set<std::string_view> others;
  for (const std::string& line : lines) {
    const std::string_view text = line;
    for (size_t at = 0; at < text.size();) {
      const size_t bytes = std::max<size_t>(character_bytes(text[at]), 1);
      if (bytes == 1) ascii[static_cast<unsigned char>(text[at])] = true;
      if (bytes > 1) others.insert(text.substr(at, bytes));
      at += bytes;
    }
  }
  return static_cast<int32_t>(std::count(ascii.begin(), ascii.end(), true) + std::ssize(others));
}

}  // namespace

std::string train_wordpiece(const std::vector<std::string>& texts, int32_t entries) {
  // A text can have fewer pieces than `entries`; that is no error here. `entries` can also be too small for
  // the characters, each of which has two entries: that is refused below. So the trainer is always asked for
  // more pieces than there are characters.
  const std::vector<std::string> lines = word_lines(texts);
  if (std::ranges::all_of(
          lines, [](const std::string& line) { return line.find_first_not_of('\n') == std::string::npos; }))
    throw request_error(
        "a WordPiece vocabulary cannot be learned from this text: it has no words; give a text with some");
  const int32_t pieces_asked = std::max({entries, kUsualCharacters, alphabet_size(lines) + kMetaPieces});
  const auto model = open_sentencepiece(
      train_sentencepiece(lines, pieces_asked, {{"hard_vocab_limit", "false"}}), "the learned vocabulary");
  const sentencepiece::SentencePieceProcessor& pieces = *model;
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, merged;
  for (int id = 0; id < pieces.GetPieceSize(); ++id) {
    std::string_view piece = pieces.IdToPiece(id);
    if (pieces.IsUnknown(id) || piece == kWordBegins) continue;
    if (is_one_character(piece)) {
      tokens.insert(tokens.end(), {std::string(piece), "##" + std::string(piece)});
      continue;
    }
    const bool begins = piece.starts_with(kWordBegins);
    if (begins) piece.remove_prefix(kWordBegins.size());
    if (begins && is_one_character(piece)) continue;  // already added as a character
    merged.push_back((begins ? "" : "##") + std::string(piece));
  }
  if (static_cast<int64_t>(tokens.size()) > entries) {
    throw request_error(
        fmt::format("a WordPiece vocabulary of {} is too small for this text: its characters alone need {}; "
                    "choose a larger one, or a model with a larger vocabulary",
                    entries, tokens.size()));
  }
  const size_t room = static_cast<size_t>(entries) - tokens.size();
  tokens.insert(tokens.end(), merged.begin(),
                merged.begin() + static_cast<std::ptrdiff_t>(std::min(room, merged.size())));
  return fmt::format("{}\n", fmt::join(tokens, "\n"));
}

}  // namespace shardlens
