// Reads the documents of JSON lines.
#include "engine/train/data/json_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/io/file_kind.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace {

constexpr size_t kMostListed = 5;
constexpr std::string_view kBlanks = " \t\r\n", kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

// Removes "…" and the blanks around it from the beginning; false if there is none that ends on its line.
bool take_quoted(std::string_view& text) {
  if (!text.starts_with('"')) return false;
  for (size_t at = 1; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '"') {
      text = without_blanks(text.substr(at + 1));
      return true;
    }
    if (text[at] == '\\') ++at;
  }
  return false;
}

bool begins_as_object(std::string_view text) {
  if (!text.starts_with('{')) return false;
  text = without_blanks(text.substr(1));
  return take_quoted(text) && text.starts_with(':');
}

bool begins_as_list(std::string_view text) {
  if (!text.starts_with('[')) return false;
  text = without_blanks(text.substr(1));
  if (begins_as_object(text)) return true;
  return take_quoted(text) && (text.starts_with(',') || text.starts_with(']'));
}

// The number of an escape \uXXXX at `at`, or nothing.
std::optional<uint32_t> escape_at(std::string_view text, size_t at) {
  constexpr size_t kEscapeBytes = 6;
  uint32_t number = 0;
  if (at + kEscapeBytes > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  const char *const from = text.data() + at + 2, *const end = text.data() + at + kEscapeBytes;
  const auto [after, error] = std::from_chars(from, end, number, 16);
  return error == std::errc() && after == end ? std::optional(number) : std::nullopt;
}

// Returns the line with U+FFFD for each half of a surrogate pair without its other half, and for bytes that
// are not UTF-8.
std::string repaired(const std::string& line) {
  // The library writes such bytes as U+FFFD when it is asked to; read again, the line is UTF-8.
  const std::string utf8 = json_text(nlohmann::json(line));
  auto text = nlohmann::json::parse(utf8).get<std::string>();
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') continue;
    const auto first = escape_at(text, at), second = escape_at(text, at + 6);
    const bool is_first = first && *first >= 0xD800 && *first <= 0xDBFF;
    const bool is_second = first && *first >= 0xDC00 && *first <= 0xDFFF;
    const bool is_pair = is_first && second && *second >= 0xDC00 && *second <= 0xDFFF;
    if ((is_first && !is_pair) || is_second) text.replace(at, 6, "\\ufffd");
    at += is_pair ? 11 : 1;  // past the pair, or past the letter after the backslash
  }
  return text;
}

}  // namespace

bool has_name_of_json_lines(const std::string& path) {
  const std::string ending = ending_of(path);
  return ending == ".jsonl" || ending == ".ndjson";
}

bool begins_as_json(std::string_view beginning) {
  if (beginning.starts_with(kByteOrderMark)) beginning.remove_prefix(kByteOrderMark.size());
  beginning = without_blanks(beginning);
  return begins_as_object(beginning) || begins_as_list(beginning);
}

std::optional<std::string> JsonLines::document(const std::string& line, int64_t number) {
  const std::string where = fmt::format("{}, line {}", path_, number);
  const auto refuse = [&](const std::string& what) {
    return request_error(fmt::format(
        "{}; JSON is read as lines, one object on each, with a string \"text\". jq -c . writes an object on "
        "one line, jq -c '.[]' a list as lines",
        what));
  };
  const auto parsed = [&](const std::string& text) {
    try {
      return parse_json(text, where);
    } catch (const Error& error) {
      throw refuse(error.what());
    }
  };
  nlohmann::json object;
  try {
    object = parsed(line);
  } catch (const Error&) {
    const std::string text = repaired(line);
    if (text == line) throw;
    parsed(text);  // what else is wrong with the line is still an error
    if (++left_out_ <= static_cast<int64_t>(kMostListed)) first_left_out_.push_back(number);
    return std::nullopt;
  }
  const auto text = object.is_object() ? object.find("text") : object.end();
  if (!object.is_object() || text == object.end() || !text->is_string())
    throw refuse(where + ": expected an object with a string \"text\"");
  return text->get<std::string>();
}

std::string JsonLines::left_out() const {
  if (left_out_ == 0) return {};
  const bool one = left_out_ == 1, more = left_out_ > static_cast<int64_t>(kMostListed);
  return fmt::format(
      "{} of {} {} not text and {} left out: line{} {}{} (half of a surrogate pair, or bytes that are not "
      "UTF-8)",
      one ? "1 line" : fmt::format("{} lines", left_out_), path_, one ? "is" : "are", one ? "was" : "were",
      one ? "" : "s", fmt::join(first_left_out_, ", "), more ? " and others" : "");
}

}  // namespace shardlens
