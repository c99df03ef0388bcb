// How byte-level BPE writes bytes as text: each of the 256 bytes has a visible character of its own, so that
// a vocabulary of arbitrary byte strings can be kept in JSON and text files. Printable Latin-1 characters
// stand for themselves; the others are moved to U+0100 and after, in order (a space becomes U+0120).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardlens {

/// The character of `byte`, in UTF-8.
std::string byte_to_letter(uint8_t byte);

/// The bytes that `letters` stand for; nothing if one of its characters stands for no byte.
std::optional<std::string> letters_to_bytes(std::string_view letters);

}  // namespace shardlens
