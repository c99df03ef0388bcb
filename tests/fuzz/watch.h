// What a case may not do beside crashing: take much memory, write to stderr, and refuse a file in words that
// help nobody.
#pragma once

#include <cstdint>
#include <string>

namespace shardlens::fuzz {

/// Counts what is allocated from now on: all of it under sanitizers, otherwise what operator new gives.
void watch_memory();
/// Begins anew, and the largest sum of bytes held at once since then.
void begin_memory();
int64_t most_bytes_held();

/// What is wrong with a message about a file in `folder`; empty: nothing. It names the file, is short, and
/// holds no control characters, no bytes that are no UTF-8, and no words of a library or of the C++ runtime.
std::string wrong_with(const std::string& message, const std::string& folder);

/// The text with escapes for what must not reach a terminal, and at most `most` bytes of it.
std::string escaped(const std::string& text, size_t most);

}  // namespace shardlens::fuzz
