// Compares values with words.
#include "engine/lesson/said_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/lesson/marking.h"
#include "engine/lesson/written_answer.h"

namespace shardlens {
namespace {

constexpr double kRough = 0.01;         // a tolerance from which a number is written with three digits
constexpr int kLeastRoundedDigits = 2;  // "1.8" may be a value that was rounded, "2" is a number

double factor_of(const std::string& unit) {
  for (const LessonUnit& one : lesson_units())
    if (unit == one.name) return one.factor;
  return 1;
}

/// A number in words, in the unit that a value of its kind counts.
struct Reading {
  WrittenNumber written;
  double value = 0;
  double last_digit = 0;  ///< what one more in the last digit adds
};
std::optional<Reading> reading_of(const LessonNumber& number, const std::string& words) {
  const std::optional<WrittenNumber> written = written_number(words);
  if (!written) return std::nullopt;
  const char* const base = number.counts == Counts::Bytes     ? "bytes"
                           : number.counts == Counts::Seconds ? "s"
                                                              : "";
  const std::optional<double> value = converted(written->value, written->unit, base);
  if (!value) return std::nullopt;
  return Reading{*written, *value, *converted(std::pow(10, -written->decimals), written->unit, base)};
}

}  // namespace

std::string number_text(double number, const std::string& unit, double tolerance) {
  const bool is_whole = std::floor(number) == number || (tolerance >= kRough && std::abs(number) >= 1000);
  const std::string digits = is_whole && std::abs(number) < 1e15 ? fmt::format("{:.0f}", number)
                             : tolerance >= kRough               ? fmt::format("{:.3g}", number)
                                                                 : fmt::format("{:.6g}", number);
  return unit.empty() ? digits : digits + " " + unit;
}

bool reads_as(const Value& value, const std::string& words) {
  if (plain_words(words) == plain_words(to_text(value))) return true;
  const LessonNumber* const number = std::get_if<LessonNumber>(&value);
  if (number == nullptr) return false;
  if (words == number_text(number->value, "")) return true;
  const std::optional<Reading> reading = reading_of(*number, words);
  return reading && is_close(reading->value, number->value, 0);
}

double in_unit(const LessonNumber& number, const std::string& unit) {
  return number.value / factor_of(unit);
}

bool is_close(double given, double right, double tolerance) {
  return std::abs(given - right) <= std::max(tolerance, kSameNumber) * std::abs(right);
}

std::vector<size_t> texts_that_say(const Value& value, const std::vector<std::string>& texts) {
  std::vector<size_t> found;
  for (size_t i = 0; i < texts.size(); ++i)
    if (reads_as(value, texts[i])) found.push_back(i);
  const LessonNumber* const number = std::get_if<LessonNumber>(&value);
  if (!found.empty() || number == nullptr) return found;
  double finest = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::optional<Reading> reading = reading_of(*number, texts[i]);
    if (!reading || reading->written.digits < kLeastRoundedDigits ||
        std::abs(reading->value - number->value) > reading->last_digit / 2 * (1 + kSameNumber))
      continue;
    if (!found.empty() && reading->last_digit > finest) continue;
    if (found.empty() || reading->last_digit < finest) found.clear();
    found.push_back(i);
    finest = reading->last_digit;
  }
  return found;
}

}  // namespace shardlens
