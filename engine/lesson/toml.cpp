// Reads TOML by toml++, and keeps the lines.
#include "engine/lesson/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace shardlens {
namespace {

constexpr size_t kLargestBlock = 16 * 1024;
constexpr std::ptrdiff_t kMostDots = 1000;  // a.b.c.… is a table in a table in a table

struct Source {
  const std::string& file;
  int first_line;
  int line_of(const toml::node& node) const {
    return first_line - 1 + static_cast<int>(std::max<toml::source_index>(node.source().begin.line, 1));
  }
};

TomlValue converted(const toml::node& node, const Source& source) {
  TomlValue value;
  value.line = source.line_of(node);
  if (const toml::table* table = node.as_table()) {
    TomlValue::Table entries;
    for (const auto& [key, child] : *table)
      entries.emplace_back(std::string(key.str()), converted(child, source));
    // toml++ sorts keys by name; a person reads them in the file's order.
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.second.line < b.second.line; });
    value.is = std::move(entries);
  } else if (const toml::array* array = node.as_array()) {
    TomlValue::List list;
    for (const toml::node& child : *array) list.push_back(converted(child, source));
    value.is = std::move(list);
  } else if (const auto text = node.value_exact<std::string>()) {
    value.is = *text;
  } else if (const auto whole = node.value_exact<int64_t>()) {
    value.is = *whole;
  } else if (const auto number = node.value_exact<double>()) {
    if (!std::isfinite(*number))
      throw lesson_error(source.file, value.line, "a number must be finite: write it in digits");
    value.is = *number;
  } else if (const auto flag = node.value_exact<bool>()) {
    value.is = *flag;
  } else {
    throw lesson_error(source.file, value.line, "dates and times mean nothing here: write a text in quotes");
  }
  return value;
}

// What the library says, in our words. It has some hundred sentences; these are the mistakes that people
// make.
const char* why_not_toml(std::string_view said) {
  static constexpr std::pair<std::string_view, const char*> kCauses[] = {
      {"redefine", "a key stands twice: state it once"},
      {"cannot insert", "a key stands twice: state it once"},
      {"nested", "it is nested too deeply"},
      {"end-of-file", "it ends before a text, a list or a table is closed"},
      {"expected '='", "a key needs = and a value after it"},
      {"control character", "a text is not closed on its line, or holds a control character"},
      {"escape", "a text has a \\ that means nothing: write two, or put the text in single quotes"},
      {"interpret", "a value cannot be read: a text stands in quotes"},
      {"determine value type", "a value cannot be read: a text stands in quotes"},
      {"expected value", "a value is missing, or a text has no quotes"},
      {"comma or closing", "between two values a comma is missing, or a bracket is not closed"},
      {"representable", "a number is too large"},
      {"zeroes", "a number begins with 0: leave the 0 out"},
      {"digit", "a number is not written in digits"},
  };
  for (const auto& [part, cause] : kCauses)
    if (said.find(part) != std::string_view::npos) return cause;
  return "a line is `key = value`, and a text stands in quotes";
}

std::string_view line_at(std::string_view text, int line) {
  for (; line > 1 && !text.empty(); --line) {
    const size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

double TomlValue::number() const {
  const int64_t* whole = std::get_if<int64_t>(&is);
  return whole ? static_cast<double>(*whole) : std::get<double>(is);
}

std::string kind_of(const TomlValue& value) {
  static const char* const kKinds[] = {"true or false", "a whole number", "a number",
                                       "a text",        "a list",         "a table"};
  return kKinds[value.is.index()];
}

std::string to_text(const TomlValue& value) {
  if (const bool* flag = std::get_if<bool>(&value.is)) return *flag ? "true" : "false";
  if (const int64_t* whole = std::get_if<int64_t>(&value.is)) return fmt::format("{}", *whole);
  if (const double* number = std::get_if<double>(&value.is)) return fmt::format("{}", *number);
  if (const std::string* text = std::get_if<std::string>(&value.is)) {
    std::string quoted = "\"";
    for (const char c : *text) {
      if (c == '"' || c == '\\') quoted += '\\';
      c == '\n' ? quoted += "\\n" : quoted += c;
    }
    return quoted + '"';
  }
  std::string out;
  if (value.is_list()) {
    for (const TomlValue& one : std::get<TomlValue::List>(value.is))
      out += (out.empty() ? "" : ", ") + to_text(one);
    return "[" + out + "]";
  }
  for (const auto& [key, one] : value.entries())
    out += fmt::format("{}\"{}\" = {}", out.empty() ? "" : ", ", key, to_text(one));
  return "{" + out + "}";
}

Error lesson_error(const std::string& file, int line, const std::string& message) {
  return request_error(fmt::format("{}:{}: {}", file, line, message));
}

TomlValue parse_toml(std::string_view text, const std::string& file, int first_line) {
  if (text.size() > kLargestBlock)
    throw lesson_error(
        file, first_line,
        fmt::format("this block has {} bytes; at most {} are read", text.size(), kLargestBlock));
  if (std::count(text.begin(), text.end(), '.') > kMostDots)
    throw lesson_error(file, first_line,
                       fmt::format("this block has more than {} dots; leave out some text", kMostDots));
  try {
    const toml::table table = toml::parse(text);
    TomlValue value = converted(table, {file, first_line});
    value.line = first_line;
    return value;
  } catch (const toml::parse_error& error) {
    const int line = static_cast<int>(std::max<toml::source_index>(error.source().begin.line, 1));
    throw lesson_error(file, first_line - 1 + line,
                       fmt::format("this is not TOML: in or before `{}` {}", shown(line_at(text, line)),
                                   why_not_toml(error.description())));
  }
}

TableReader::TableReader(const TomlValue& table, std::string file, std::string what)
    : table_(table), file_(std::move(file)), what_(std::move(what)) {
  if (!table.is_table())
    throw lesson_error(
        file_, table.line,
        fmt::format("{} must be a table, {{ key = value }}, and is {}", what_, kind_of(table)));
}

const TomlValue* TableReader::find(const std::string& key) const {
  for (const auto& [name, value] : table_.entries())
    if (name == key) return &value;
  return nullptr;
}

bool TableReader::has(const std::string& key) {
  asked_.push_back(key);
  return find(key) != nullptr;
}

const TomlValue& TableReader::require(const std::string& key) {
  asked_.push_back(key);
  if (const TomlValue* value = find(key)) return *value;
  throw lesson_error(file_, table_.line, fmt::format("{} lacks `{}`: add a line `{} = …`", what_, key, key));
}

int TableReader::line_of(const std::string& key) const {
  const TomlValue* value = find(key);
  return value ? value->line : table_.line;
}

Error TableReader::fail(const std::string& key, const std::string& message) const {
  return lesson_error(file_, line_of(key), fmt::format("{}, `{}`: {}", what_, key, message));
}

const TomlValue& TableReader::value(const std::string& key) {
  return require(key);
}

std::string TableReader::text(const std::string& key) {
  const TomlValue& value = require(key);
  if (!value.is_text()) throw fail(key, fmt::format("must be a text in quotes, and is {}", kind_of(value)));
  return std::get<std::string>(value.is);
}

std::string TableReader::text_or(const std::string& key, const std::string& fallback) {
  return has(key) ? text(key) : fallback;
}

std::vector<std::string> TableReader::texts_or_none(const std::string& key) {
  if (!has(key)) return {};
  const TomlValue& value = require(key);
  if (value.is_text()) return {std::get<std::string>(value.is)};
  std::vector<std::string> texts;
  if (value.is_list()) {
    for (const TomlValue& one : std::get<TomlValue::List>(value.is)) {
      if (!one.is_text()) throw fail(key, fmt::format("must be a list of texts, and holds {}", kind_of(one)));
      texts.push_back(std::get<std::string>(one.is));
    }
    return texts;
  }
  throw fail(key, fmt::format("must be a list of texts, [\"…\", \"…\"], and is {}", kind_of(value)));
}

int64_t TableReader::integer(const std::string& key, int64_t least, int64_t most) {
  const TomlValue& value = require(key);
  const int64_t* whole = std::get_if<int64_t>(&value.is);
  if (!whole || *whole < least || *whole > most)
    throw fail(key, fmt::format("must be a whole number from {} to {}, and is {}", least, most,
                                whole ? to_text(value) : kind_of(value)));
  return *whole;
}

double TableReader::number(const std::string& key, double least, double most) {
  const TomlValue& value = require(key);
  if (!value.is_number() || value.number() < least || value.number() > most)
    throw fail(key, fmt::format("must be a number from {} to {}, and is {}", least, most,
                                value.is_number() ? to_text(value) : kind_of(value)));
  return value.number();
}

bool TableReader::flag_or(const std::string& key, bool fallback) {
  if (!has(key)) return fallback;
  const TomlValue& value = require(key);
  const bool* flag = std::get_if<bool>(&value.is);
  if (!flag) throw fail(key, fmt::format("must be true or false, and is {}", kind_of(value)));
  return *flag;
}

void TableReader::finish() const {
  for (const auto& [key, value] : table_.entries()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    std::vector<std::string> known = asked_;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    throw lesson_error(file_, value.line,
                       fmt::format("{}: {}", what_, unknown_name("key", key, known).what()));
  }
}

}  // namespace shardlens
