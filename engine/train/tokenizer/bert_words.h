// BERT's basic tokenisation: text is cleaned, CJK characters are set apart, letters are lower-cased and lose
// their accents, and the result is cut at white space and punctuation. WordPiece then cuts each word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardlens {

/// The four switches of Hugging Face's BertNormalizer.
struct BertRules {
  bool clean_text = true;  ///< NUL, U+FFFD and control characters go, white space becomes a space
  bool spaced_cjk = true;  ///< every CJK ideograph is a word
  bool lower_case = true;
  bool strip_accents = true;  ///< canonical decomposition, then non-spacing marks go
};

/// The words of `text` in UTF-8, normalised. Bytes that are no UTF-8 count as U+FFFD. Character classes are
/// ICU's (Unicode 15), as the original BERT takes its Python's; Hugging Face's Rust tokenizers know the
/// non-spacing marks and format characters of Unicode 8 only.
std::vector<std::string> bert_words(std::string_view text, const BertRules& rules);

/// True if a word as bert_words() cuts it is a punctuation character.
bool is_punctuation(std::string_view word);

}  // namespace shardlens
