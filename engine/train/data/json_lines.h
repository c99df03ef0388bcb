// The lines of a JSON-lines text: one object on each line, whose string "text" is a document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardlens {

/// True if the name ends in .jsonl or .ndjson, in letters of any case.
bool has_name_of_json_lines(const std::string& path);

/// True if a text begins as a JSON object does, with a key and a colon, or as a list of texts or objects
/// does. No prose does.
bool begins_as_json(std::string_view beginning);

/// Reads the lines of one file, and keeps account of those that are left out.
class JsonLines {
 public:
  explicit JsonLines(std::string path) : path_(std::move(path)) {}

  /// Returns the document of line `number`. Nothing, if the line is no text: half of a surrogate pair, or
  /// bytes that are not UTF-8. Throws a request Error that names file and line for everything else that is
  /// not such an object.
  std::optional<std::string> document(const std::string& line, int64_t number);

  /// "2 lines of x.jsonl are not text and were left out: lines 7, 12 (…)"; empty if none was.
  std::string left_out() const;

 private:
  std::string path_;
  int64_t left_out_ = 0;
  std::vector<int64_t> first_left_out_;  // line numbers, a few
};

}  // namespace shardlens
