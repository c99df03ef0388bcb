// Reads typed numbers: see typed.h.
#include "ui/widgets/typed.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace shardlens::ui {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// True for a comma, space, apostrophe or underscore between digits with exactly three digits after it. So
/// "1,5" is not read as fifteen.
bool parts_thousands(std::string_view text, size_t at) {
  if (std::string_view(", '_").find(text[at]) == std::string_view::npos || at == 0 || at + 3 >= text.size())
    return false;
  const bool ends = at + 4 == text.size() || !is_digit(text[at + 4]);
  return is_digit(text[at - 1]) && is_digit(text[at + 1]) && is_digit(text[at + 2]) &&
         is_digit(text[at + 3]) && ends;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

}  // namespace

template <class T>
std::optional<T> typed_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && text.size() > 1 && is_digit(text[1])) text.remove_prefix(1);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i)
    if (!parts_thousands(text, i)) plain += text[i];
  const char *begin = plain.data(), *end = begin + plain.size();
  T number{};
  const auto whole = std::from_chars(begin, end, number);
  if (whole.ec == std::errc() && whole.ptr == end) return number;
  double real = 0;
  const auto written = std::from_chars(begin, end, real);
  constexpr double kExact = 9007199254740992;  // 2^53: larger whole numbers are not exact in a double
  if (written.ec != std::errc() || written.ptr != end || std::abs(real) > kExact || real != std::floor(real))
    return std::nullopt;
  if (std::is_unsigned_v<T> && real < 0) return std::nullopt;
  return static_cast<T>(real);
}

template std::optional<int64_t> typed_number(std::string_view text);
template std::optional<uint64_t> typed_number(std::string_view text);

std::string not_typed(std::string_view text, bool may_be_negative) {
  return fmt::format("\"{}\" is not a whole number{}; write it as 1024, 1,024 or 1e3", text,
                     may_be_negative ? "" : " of 0 or more");
}

}  // namespace shardlens::ui
