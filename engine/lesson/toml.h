// TOML with the line of every value, so that an error can say where it is. A block of TOML is read strictly:
// every key is asked for by name, and a key that nobody asked for is an error.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/error.h"

namespace shardlens {

struct TomlValue {
  using Table = std::vector<std::pair<std::string, TomlValue>>;  ///< in the file's order
  using List = std::vector<TomlValue>;
  std::variant<bool, int64_t, double, std::string, List, Table> is = Table{};
  int line = 0;  ///< in the file, from 1

  const Table& entries() const { return std::get<Table>(is); }
  bool is_table() const { return std::holds_alternative<Table>(is); }
  bool is_list() const { return std::holds_alternative<List>(is); }
  bool is_text() const { return std::holds_alternative<std::string>(is); }
  bool is_number() const { return std::holds_alternative<int64_t>(is) || std::holds_alternative<double>(is); }
  double number() const;  ///< only if is_number()
};

/// "a text", "a whole number", …
std::string kind_of(const TomlValue& value);
/// As in the file: 4, "reversed", [1, 2].
std::string to_text(const TomlValue& value);

/// A request Error that begins "FILE:LINE: ".
Error lesson_error(const std::string& file, int line, const std::string& message);

/// Parses a block whose first line is line `first_line` of `file`. Throws a lesson_error. Refuses blocks of
/// more than 16 KiB.
TomlValue parse_toml(std::string_view text, const std::string& file, int first_line);

/// One table, read key by key.
class TableReader {
 public:
  /// `what` names the table in messages: "a scene".
  TableReader(const TomlValue& table, std::string file, std::string what);

  bool has(const std::string& key);           ///< also counts as asking for it
  int line_of(const std::string& key) const;  ///< the table's, if there is no such key
  std::string text(const std::string& key);
  std::string text_or(const std::string& key, const std::string& fallback);
  std::vector<std::string> texts_or_none(const std::string& key);  ///< a list of texts, or one text
  int64_t integer(const std::string& key, int64_t least, int64_t most);
  double number(const std::string& key, double least, double most);
  bool flag_or(const std::string& key, bool fallback);
  const TomlValue& value(const std::string& key);
  /// Reads a text and converts it by `parse`, whose request Error gets file and line.
  template <class Parse>
  auto word(const std::string& key, const Parse& parse) {
    const std::string given = text(key);
    try {
      return parse(given);
    } catch (const Error& error) {
      throw fail(key, error.what());
    }
  }
  Error fail(const std::string& key, const std::string& message) const;
  const std::string& file() const { return file_; }
  /// Throws for the first key that nobody asked for, with the nearest that is known.
  void finish() const;

 private:
  const TomlValue* find(const std::string& key) const;
  const TomlValue& require(const std::string& key);

  const TomlValue& table_;
  std::string file_, what_;
  std::vector<std::string> asked_;
};

}  // namespace shardlens
