// Reads numbers and words of answers. assets/handout/answers.js does the same with the same tables; the tests
// compare the two.
#include "engine/lesson/written_answer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/base/utf8.h"

namespace shardlens {
namespace {

/// Pages show numbers with three digits.
constexpr int kShownDigits = 3;
constexpr int kLargestExponent = 308;

// First what may stand between digits, then the rest.
constexpr std::pair<const char*, const char*> kSpaces[] = {
    {" ", ""}, {"\t", ""}, {"\n", ""}, {"\r", ""}, {"\u00a0", ""}, {"\u2009", ""}, {"\u202f", ""}};
constexpr std::pair<const char*, const char*> kSigns[] = {{"\u2212", "-"}, {"\u2013", "-"}, {"\u2011", "-"}};
constexpr std::pair<const char*, const char*> kReplaced[] = {
    {"(", ""},      {")", ""},     {"[", ""},      {"]", ""},  {"{", ""},    {"}", ""},
    {"\"", ""},     {"'", ""},     {"`", ""},      {"·", ""},  {"*", ""},    {"×", ""},
    {"∘", ""},      {"^", ""},     {"ᵀ", "t"},     {"²", "2"}, {"Σ", "sum"}, {"√", "sqrt"},
    {"γ", "gamma"}, {"β", "beta"}, {"σ", "sigma"}, {"µ", "u"}, {"μ", "u"}};

std::string replaced(std::string words, const std::pair<const char*, const char*>& rule) {
  const std::string_view from = rule.first, to = rule.second;
  for (size_t at = words.find(from); at != std::string::npos; at = words.find(from, at + to.size()))
    words.replace(at, from.size(), to);
  return words;
}

std::string without_spaces(std::string_view text) {
  std::string words = lower_case(text);
  for (const auto& rule : kSpaces) words = replaced(std::move(words), rule);
  for (const auto& rule : kSigns) words = replaced(std::move(words), rule);
  return words;
}

struct WrittenUnit {
  const char* word;
  const char* measures;
  double factor;
};
constexpr WrittenUnit kUnits[] = {{"byte", "bytes", 1},
                                  {"bytes", "bytes", 1},
                                  {"kib", "bytes", 1024.0},
                                  {"mib", "bytes", 1048576.0},
                                  {"gib", "bytes", 1073741824.0},
                                  {"tib", "bytes", 1099511627776.0},
                                  {"kb", "bytes", 1e3},
                                  {"mb", "bytes", 1e6},
                                  {"gb", "bytes", 1e9},
                                  {"tb", "bytes", 1e12},
                                  {"s", "seconds", 1},
                                  {"second", "seconds", 1},
                                  {"seconds", "seconds", 1},
                                  {"ms", "seconds", 1e-3},
                                  {"us", "seconds", 1e-6},
                                  {"µs", "seconds", 1e-6},
                                  {"μs", "seconds", 1e-6},
                                  {"ns", "seconds", 1e-9},
                                  {"%", "things", 0.01},
                                  {"percent", "things", 0.01},
                                  {"", "things", 1},
                                  {"times", "things", 1},
                                  {"x", "things", 1},
                                  {"×", "things", 1},
                                  {"fold", "things", 1},
                                  {"rank", "ranks", 1},
                                  {"ranks", "ranks", 1},
                                  {"head", "heads", 1},
                                  {"heads", "heads", 1}};

const WrittenUnit* unit_named(const std::string& word) {
  const auto found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                  [&](const WrittenUnit& one) { return word == one.word; });
  return found == std::end(kUnits) ? nullptr : found;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The number of characters of "1,024" or "1,024,000" that `text` begins with, or 0.
size_t grouped_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && at < 4 && is_digit(text[at])) ++at;
  if (at == 0 || at > 3 || text[0] == '0') return 0;
  const size_t first = at;
  while (at + 3 < text.size() && text[at] == ',' && is_digit(text[at + 1]) && is_digit(text[at + 2]) &&
         is_digit(text[at + 3]) && (at + 4 == text.size() || !is_digit(text[at + 4])))
    at += 4;
  return at == first ? 0 : at;
}

}  // namespace

std::string plain_words(std::string_view text) {
  std::string words = without_spaces(text);
  for (const auto& rule : kReplaced) words = replaced(std::move(words), rule);
  return words;
}

// Digits with or without commas between thousands, a point or a comma before decimals, an exponent, a unit.
std::optional<WrittenNumber> written_number(std::string_view words) {
  if (words.size() > kLongestWritten) return std::nullopt;
  const std::string text = without_spaces(words);
  std::string_view rest = text;
  std::string digits;
  const auto take_digits = [&] {
    size_t count = 0;
    while (count < rest.size() && is_digit(rest[count])) ++count;
    digits += rest.substr(0, count);
    rest.remove_prefix(count);
    return count;
  };
  if (rest.starts_with('-')) digits += '-';
  if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  const size_t sign = digits.size(), grouped = grouped_length(rest);
  for (size_t i = 0; i < grouped; ++i)
    if (rest[i] != ',') digits += rest[i];
  rest.remove_prefix(grouped);
  if (grouped == 0) take_digits();
  WrittenNumber number;
  if (rest.starts_with('.') || (grouped == 0 && rest.starts_with(','))) {
    digits += '.';
    rest.remove_prefix(1);
    number.decimals = static_cast<int>(take_digits());
  }
  if (digits.size() - sign == static_cast<size_t>(digits.find('.') != std::string::npos)) return std::nullopt;
  bool leading = true;
  for (const char c : std::string_view(digits).substr(sign)) {
    leading = leading && (c == '0' || c == '.');
    number.digits += !leading && c != '.';
  }
  if (rest.size() > 1 && rest[0] == 'e' && (is_digit(rest[1]) || (rest.size() > 2 && is_digit(rest[2])))) {
    int exponent = 0;
    const char* const begin = rest.data() + (rest[1] == '+' ? 2 : 1);
    const char* const last = rest.data() + rest.size();
    const auto [end, error] = std::from_chars(begin, last, exponent);
    if (error != std::errc() || std::abs(exponent) > kLargestExponent) return std::nullopt;
    digits += "e" + std::to_string(exponent);
    number.decimals -= exponent;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  }
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number.value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(number.value))
    return std::nullopt;
  if (std::any_of(rest.begin(), rest.end(), [](char c) { return is_digit(c) || c == ',' || c == '.'; }))
    return std::nullopt;
  number.unit = rest;
  return number;
}

std::optional<double> converted(double number, const std::string& unit, const std::string& wanted) {
  const WrittenUnit* const to = unit_named(lower_case(wanted));
  const WrittenUnit* const from = unit.empty() ? to : unit_named(unit);
  if (from == nullptr || to == nullptr) return std::nullopt;
  const std::string_view measured = from->measures, asked = to->measures;
  // Ranks and heads are counted: a question that names no unit may ask for them.
  const bool counts = wanted.empty() && (measured == "ranks" || measured == "heads");
  if (measured != asked && !counts) return std::nullopt;
  return number * from->factor / to->factor;
}

bool says_number(const WrittenNumber& given, double right, const std::string& unit, double tolerance) {
  const std::optional<double> number = converted(given.value, given.unit, unit);
  if (!number) return false;
  const double away = std::abs(*number - right);
  if (away <= std::max(tolerance, kSameNumber) * std::abs(right)) return true;
  const double last_digit = *converted(std::pow(10, -given.decimals), given.unit, unit);
  return given.digits >= kShownDigits && away <= last_digit / 2 * (1 + kSameNumber);
}

nlohmann::ordered_json rules_of_writing() {
  const auto pairs = [](const auto& rules) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& [from, to] : rules) all.push_back({from, to});
    return all;
  };
  nlohmann::ordered_json units = nlohmann::ordered_json::object();
  for (const WrittenUnit& one : kUnits) units[one.word] = {one.measures, one.factor};
  return {
      {"spaces", pairs(kSpaces)}, {"signs", pairs(kSigns)}, {"replaced", pairs(kReplaced)}, {"units", units}};
}

}  // namespace shardlens
