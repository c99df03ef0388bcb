// Reads a text, whole or line by line. Every text that a person names is read here, so that each reader
// refuses the same files: what is no text in UTF-8 by its beginning, and what cannot be read to its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/input_file.h"

namespace shardlens {

/// The lines of a text, which may be larger than memory.
class TextLines {
 public:
  /// Throws a request Error if the file cannot be opened or is no text.
  explicit TextLines(const std::string& path, InputFile::Takes takes = InputFile::Takes::Files);

  /// The first bytes of the text: up to kTextBeginningBytes. Before the first next().
  std::string_view beginning() const { return {buffer_.data() + at_, end_ - at_}; }

  /// Reads the next line, without its line feed; false at the end. Throws a run Error, with the place, if the
  /// file cannot be read or if a line is too long for the memory.
  bool next(std::string& line);

  int64_t number() const { return number_; }  ///< of the last line; the first is 1
  int64_t bytes() const { return bytes_; }    ///< of all lines so far

 private:
  bool fill();

  InputFile file_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;  // the part of buffer_ that was not given out
  int64_t number_ = 0, bytes_ = 0;
};

/// Returns a whole text. Throws what TextLines throws.
std::string read_text(const std::string& path);

}  // namespace shardlens
