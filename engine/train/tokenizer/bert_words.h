// BERT's basic tokenisation. Text is cleaned, CJK characters are separated, letters are lower-cased and lose
// their accents. The result is cut at white space and punctuation. WordPiece then cuts each word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardlens {

/// The four switches of Hugging Face's BertNormalizer.
struct BertRules {
  bool clean_text = true;  ///< removes NUL, U+FFFD and control characters; white space becomes a space
  bool spaced_cjk = true;  ///< every CJK ideograph is a word
  bool lower_case = true;
  bool strip_accents = true;  ///< canonical decomposition, then removes non-spacing marks
};

/// Normalises `text` to UTF-8 without cutting it. Bytes that are not UTF-8 count as U+FFFD. Character classes
/// are ICU's (Unicode 15), as the original BERT uses those of its Python. Hugging Face's Rust tokenizers know
/// only the non-spacing marks and format characters of Unicode 8.
std::string bert_normalized(std::string_view text, const BertRules& rules);

/// The words of normalised text.
std::vector<std::string> bert_split(std::string_view normalized);

/// The words of `text`: both steps.
std::vector<std::string> bert_words(std::string_view text, const BertRules& rules);

/// True if a word of bert_words() is a punctuation character.
bool is_punctuation(std::string_view word);

}  // namespace shardlens
