// Cleans a text before a model learns from it: the part of ftfy's work that has one right answer. No library
// does this for C++, so the subset is specified here:
//
//   1. Bytes that are not UTF-8 become U+FFFD, one for each ill-formed sequence.
//   2. UTF-8 that was once read as Latin-1 or Windows-1252 and stored again ("CafÃ©", "donâ€™t", "ðŸ˜€") is
//      converted back, up to three times, if the reading is certain: Latin-1 letters and signs,
//      general punctuation and symbols, emoji. A capital before a closing quotation mark stays ("MAÇÃ”").
//   3. Line ends of all kinds (CR LF, CR, U+0085, U+2028, U+2029) become LF. Byte-order marks and control
//      characters other than tab and LF are removed.
//   4. Canonical composition (NFC).
//
// Quotation marks, ligatures and widths stay as they were written.
#pragma once

#include <string>
#include <string_view>

namespace shardlens {

/// Returns `text` cleaned, in valid UTF-8. Cleaning a clean text changes nothing.
std::string clean_text(std::string_view text);

}  // namespace shardlens
