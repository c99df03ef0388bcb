// Tells what a file is by its first bytes. A name says only what its owner thinks that it is.
#pragma once

#include <string>
#include <string_view>

namespace shardlens {

enum class FileKind {
  Unknown,      ///< a text, or a form without a mark
  Npy,          ///< an array of NumPy
  Tokens,       ///< a corpus as token ids (engine/train/data/token_file.h)
  Safetensors,  ///< weights
  Recording,    ///< a database of SQLite
  Foreign,      ///< a form that no part of this program reads: compressed, an archive, UTF-16
};

FileKind kind_of_bytes(std::string_view beginning);

/// What a file that begins so is, in words: "a recording", "a text", "a file of an unknown form".
std::string title_of_bytes(std::string_view beginning);

/// True if a file that begins so is a recording of ours, not another database of SQLite.
bool begins_as_recording(std::string_view beginning);

/// Reads the beginning of a file. Unknown if it cannot be read; whoever opens it then says why.
FileKind kind_of_file(const std::string& path);

/// The ending of a file's name in small letters, with its dot (".jsonl"); empty if it has none.
std::string ending_of(const std::string& path);

/// True if a file is weights by its first bytes or by its name: one that is missing or damaged is reported as
/// what it should be.
bool is_weights_file(const std::string& path);

/// The bytes at the beginning of a text that must not hold a zero.
inline constexpr size_t kTextBeginningBytes = 8192;

/// Throws a request Error, with the remedy, unless `beginning` (up to kTextBeginningBytes) can begin a text
/// in UTF-8. `path` names the file.
void require_text(const std::string& path, std::string_view beginning);

}  // namespace shardlens
