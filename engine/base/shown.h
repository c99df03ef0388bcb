// Text of unknown origin as a person may see it. A name in a file, a token or a word of the command line can
// hold codes that a terminal obeys, bytes that are no text, or 100,000 letters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardlens {

/// Returns `text` without anything that a terminal obeys: control characters, and bytes that are not UTF-8,
/// become \x1b, \xff, …. Line ends and tabs stay. Text that is printable already is unchanged.
std::string printable(std::string_view text);

/// Returns a name for use inside a sentence: printable, on one line, and if it is longer than `most`
/// characters, its beginning and "…".
std::string shown(std::string_view name, size_t most = 60);

/// Returns a whole message: printable, and if it is very long, without its middle. Its beginning says what
/// was wrong, its end what would work.
std::string message_text(std::string_view message);

}  // namespace shardlens
