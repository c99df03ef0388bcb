// Cleans a text before a model learns from it.
#include "engine/train/tokenizer/clean_text.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstdint>

#include "engine/config/error.h"
#include "engine/train/tokenizer/code_points.h"

namespace shardlens {
namespace {

constexpr int kMostRepairs = 3;

// Windows-1252 at 0x80 to 0x9F; 0 where it has no character.
constexpr char32_t kWindows[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                   0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                   0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                   0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

// The byte that reads as `c` in Latin-1 or Windows-1252, or -1.
int byte_of(char32_t c) {
  if (c < 0x100) return static_cast<int>(c);
  const auto* found = std::find(std::begin(kWindows), std::end(kWindows), c);
  return found == std::end(kWindows) ? -1 : 0x80 + static_cast<int>(found - std::begin(kWindows));
}

bool is_continuation(int byte) {
  return byte >= 0x80 && byte <= 0xBF;
}

// Marks that end a quotation, a thought or a pause. They can follow a capital letter with an accent.
bool is_closing_mark(char32_t c) {
  return c == 0x2026 || (c >= 0x2013 && c <= 0x2014) || (c >= 0x2018 && c <= 0x201D);
}

struct Repair {
  size_t length = 0;  // characters that are replaced; 0: none
  char32_t character = 0;
};

// The character whose UTF-8 bytes were read as the characters from `at`, if that reading is certain.
Repair repair_at(const CodePoints& text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? byte_of(text[at + i]) : -1; };
  const auto bits = [&](size_t i) { return static_cast<char32_t>(byte(i) & 0x3F); };
  const int lead = byte(0);
  if (lead < 0xC2 || text[at] > 0xFF || !is_continuation(byte(1))) return {};
  if (lead == 0xC2 || lead == 0xC3) {  // U+0080 to U+00FF
    const bool letter_follows = at + 2 < text.size() && u_isalpha(static_cast<UChar32>(text[at + 2]));
    if (is_closing_mark(text[at + 1]) && !letter_follows) return {};
    return {2, static_cast<char32_t>(lead & 0x1F) << 6 | bits(1)};
  }
  if (lead == 0xE2 && byte(1) <= 0x9E && is_continuation(byte(2)))  // U+2000 to U+27BF
    return {3, char32_t{0x2000} | bits(1) << 6 | bits(2)};
  if (lead == 0xF0 && byte(1) == 0x9F && is_continuation(byte(2)) && is_continuation(byte(3)))  // U+1F000 on
    return {4, char32_t{0x1F000} | bits(2) << 6 | bits(3)};
  return {};
}

CodePoints repaired(CodePoints text) {
  for (int round = 0; round < kMostRepairs; ++round) {
    CodePoints out;
    bool changed = false;
    for (size_t at = 0; at < text.size();) {
      const Repair repair = repair_at(text, at);
      out.push_back(repair.length ? repair.character : text[at]);
      at += repair.length ? repair.length : 1;
      changed |= repair.length > 0;
    }
    text = std::move(out);
    if (!changed) break;
  }
  return text;
}

CodePoints with_plain_lines(const CodePoints& text) {
  CodePoints out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char32_t c = text[at];
    if (c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029) {
      out.push_back('\n');
      if (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n') ++at;
    } else if (c == '\t' || c == '\n' ||
               (c != 0xFEFF && u_charType(static_cast<UChar32>(c)) != U_CONTROL_CHAR)) {
      out.push_back(c);
    }
  }
  return out;
}

std::string composed(const CodePoints& points) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  const icu::UnicodeString text = icu::UnicodeString::fromUTF32(
      reinterpret_cast<const UChar32*>(points.data()), static_cast<int32_t>(points.size()));
  const icu::UnicodeString normal = U_SUCCESS(status) ? nfc->normalize(text, status) : icu::UnicodeString();
  if (U_FAILURE(status)) throw run_error(std::string("ICU cannot compose a text: ") + u_errorName(status));
  std::string utf8;
  return normal.toUTF8String(utf8);
}

}  // namespace

std::string clean_text(std::string_view text) {
  return composed(with_plain_lines(repaired(to_code_points(text))));
}

}  // namespace shardlens
