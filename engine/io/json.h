// Reads JSON strictly: the reader asks for every key by name and type, and a key that it never asks for is an
// error. Every error names the file, the key, what was found and what is expected.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "engine/base/error.h"

namespace shardlens {

/// Parses `text`; `source` names it in errors. Takes time in proportion to the text. Refuses duplicate
/// keys, trailing text, bytes of 0, nesting past 64 levels and more than eight million keys and values.
nlohmann::json parse_json(const std::string& text, const std::string& source);

/// Reads and parses a file of at most 64 MiB.
nlohmann::json read_json_file(const std::string& path);

/// One JSON object, read key by key. Keys may be asked for in any order; finish() refuses those never asked
/// for.
class ObjectReader {
 public:
  /// `where` names the object in errors ("models.json, gpt2"). Throws a request Error if `value` is no
  /// object. The json must outlive the reader.
  ObjectReader(const nlohmann::json& value, std::string where);

  bool has(const std::string& key);  ///< also counts as asking for the key; true for null
  int64_t integer(const std::string& key);
  int small_integer(const std::string& key);  ///< of 32 bits
  // The _or readers treat null like a missing key.
  int64_t integer_or(const std::string& key, int64_t fallback);
  uint64_t unsigned_integer(const std::string& key);  ///< the full 64 bits, as a seed needs
  double number(const std::string& key);              ///< finite
  double number_or(const std::string& key, double fallback);
  bool boolean(const std::string& key);
  bool boolean_or(const std::string& key, bool fallback);
  std::string string(const std::string& key);
  std::string string_or(const std::string& key, const std::string& fallback);
  /// Reads a text and converts it with `parse`. If `parse` does not accept it, the Error also says where the
  /// text is.
  template <class Parse>
  auto word(const std::string& key, const Parse& parse) {
    const std::string text = string(key);
    try {
      return parse(text);
    } catch (const Error& error) {
      throw request_error(where_ + ", \"" + key + "\": " + error.what());
    }
  }
  const nlohmann::json& child(const std::string& key);  ///< any value, for a nested reader
  /// Throws a request Error for the first unknown key, with the nearest known key and the list of known keys.
  void finish() const;

  const std::string& where() const { return where_; }

 private:
  bool given(const std::string& key);  // there, and not null
  const nlohmann::json& require(const std::string& key, bool (nlohmann::json::*is_type)() const noexcept,
                                const char* type);

  const nlohmann::json& value_;
  std::string where_;
  std::set<std::string> asked_;
};

}  // namespace shardlens
