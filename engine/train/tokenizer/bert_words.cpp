// Implements BERT's basic tokenisation, with one pass over the code points for each of its steps.
#include "engine/train/tokenizer/bert_words.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <cstdint>

#include "engine/base/error.h"
#include "engine/train/tokenizer/code_points.h"

namespace shardlens {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool has_category(char32_t c, uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0;
}

bool is_space(char32_t c) {
  return u_isUWhiteSpace(static_cast<UChar32>(c));
}

// True for control, format and private-use characters. To BERT, tab and line ends are white space.
bool is_control(char32_t c) {
  return c != '\t' && c != '\n' && c != '\r' && has_category(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK);
}

// Every ASCII character that is not a letter, digit or space counts, including $ + < = > ^ ` | ~.
bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return has_category(c, U_GC_P_MASK);
}

// The blocks of ideographs that BERT lists. Hangul, Hiragana and Katakana are not among them, because their
// texts consist of words.
bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

CodePoints clean(const CodePoints& points) {
  CodePoints out;
  for (const char32_t c : points) {
    if (c == 0 || c == kReplacement || is_control(c)) continue;
    out.push_back(is_space(c) ? U' ' : c);
  }
  return out;
}

CodePoints space_ideographs(const CodePoints& points) {
  CodePoints out;
  for (const char32_t c : points) {
    if (is_ideograph(c)) {
      out.append({U' ', c, U' '});
    } else {
      out.push_back(c);
    }
  }
  return out;
}

CodePoints without_accents(const CodePoints& points) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* decomposition = icu::Normalizer2::getNFDInstance(status);
  const icu::UnicodeString text = icu::UnicodeString::fromUTF32(
      reinterpret_cast<const UChar32*>(points.data()), static_cast<int32_t>(points.size()));
  const icu::UnicodeString decomposed =
      U_SUCCESS(status) ? decomposition->normalize(text, status) : icu::UnicodeString();
  if (U_FAILURE(status)) throw run_error(std::string("ICU cannot decompose a text: ") + u_errorName(status));
  CodePoints out;
  for (int32_t at = 0; at < decomposed.length(); at = decomposed.moveIndex32(at, 1)) {
    const auto c = static_cast<char32_t>(decomposed.char32At(at));
    if (!has_category(c, U_GC_MN_MASK)) out.push_back(c);
  }
  return out;
}

// Lower-cases character by character, without context (a capital sigma at the end of a word becomes the
// ordinary small one). One character becomes two.
CodePoints lowered(const CodePoints& points) {
  CodePoints out;
  for (const char32_t c : points) {
    if (c == 0x130) {  // I with a dot above
      out.append({U'i', 0x307});
    } else {
      out.push_back(static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
    }
  }
  return out;
}

}  // namespace

std::string bert_normalized(std::string_view text, const BertRules& rules) {
  CodePoints points = to_code_points(text);
  if (rules.clean_text) points = clean(points);
  if (rules.spaced_cjk) points = space_ideographs(points);
  if (rules.strip_accents) points = without_accents(points);
  if (rules.lower_case) points = lowered(points);
  std::string normalized;
  normalized.reserve(text.size());
  for (const char32_t c : points) append_utf8(normalized, c);
  return normalized;
}

std::vector<std::string> bert_split(std::string_view normalized) {
  std::vector<std::string> words;
  bool open = false;  // the last word may still grow
  for (const char32_t c : to_code_points(normalized)) {
    if (is_space(c)) {
      open = false;
      continue;
    }
    const bool alone = is_punctuation(c);
    if (!open || alone) words.emplace_back();
    append_utf8(words.back(), c);
    open = !alone;
  }
  return words;
}

std::vector<std::string> bert_words(std::string_view text, const BertRules& rules) {
  return bert_split(bert_normalized(text, rules));
}

bool is_punctuation(std::string_view word) {
  const CodePoints points = to_code_points(word);
  return points.size() == 1 && is_punctuation(points[0]);
}

}  // namespace shardlens
