// Text as Unicode code points, for code that reads characters one by one.
#pragma once

#include <string>
#include <string_view>

namespace shardlens {

using CodePoints = std::u32string;

/// The code points of UTF-8. Invalid UTF-8 becomes U+FFFD.
CodePoints to_code_points(std::string_view utf8);

/// Appends one code point to UTF-8 text.
void append_utf8(std::string& utf8, char32_t code_point);

}  // namespace shardlens
