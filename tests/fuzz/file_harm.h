// Ways to damage a file of one kind: in its bytes, or in what the kind is made of, so that the rest still
// reads.
#pragma once

#include <string>

#include "tests/fuzz/form.h"

namespace shardlens::fuzz {

enum class FileKind {
  Bytes,        ///< nothing is known of it
  Lines,        ///< a text
  Json,         ///< also one object a line
  Safetensors,  ///< a length, JSON, and the tensors' bytes
  Npy,          ///< a header in Python's words, and an array
  Protobuf,     ///< fields, some of which hold fields
  Lesson,       ///< Markdown with blocks of TOML and with expressions
  State,        ///< JSON with the text of a layout
};

/// `bytes`, damaged in one to four places. `done` receives what was done, in words.
std::string harm_file(FileKind kind, std::string bytes, Random& random, std::string& done);

// The parts of it, by kind.
std::string harm_bytes(std::string bytes, Random& random, std::string& done);
std::string harm_lines(std::string text, Random& random, std::string& done);
std::string harm_json(std::string text, Random& random, std::string& done);
std::string harm_safetensors(std::string bytes, Random& random, std::string& done);
std::string harm_npy(std::string bytes, Random& random, std::string& done);
std::string harm_protobuf(std::string bytes, Random& random, std::string& done);
std::string harm_lesson(std::string text, Random& random, std::string& done);
std::string harm_state(std::string text, Random& random, std::string& done);

/// True for a JSON text with so many levels that the library, which calls itself for each, would overflow the
/// stack. Damage makes such texts for the program's readers; the fuzzer itself must not parse one.
bool is_nested_deeply(const std::string& text);

/// A text that no reader expects: empty, control characters, a giant word, no UTF-8.
std::string strange_text(Random& random);

}  // namespace shardlens::fuzz
