// Converts bytes to text and back, as byte-level BPE does. Each of the 256 bytes has its own visible
// character, so that a vocabulary of arbitrary byte strings can be stored in JSON and text files. Printable
// Latin-1 characters represent themselves. The others are moved to U+0100 and above, in order (a space
// becomes U+0120).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardlens {

/// The character of `byte`, in UTF-8.
std::string byte_to_letter(uint8_t byte);

/// The bytes that `letters` represent; nothing if one of its characters represents no byte.
std::optional<std::string> letters_to_bytes(std::string_view letters);

}  // namespace shardlens
