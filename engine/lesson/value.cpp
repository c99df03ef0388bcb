// Values as words.
#include "engine/lesson/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <string_view>

#include "engine/base/suggest.h"
#include "engine/base/units.h"

namespace shardlens {
namespace {

std::string things_text(double value) {
  if (std::floor(value) == value && std::abs(value) < 1e15) return grouped_text(static_cast<int64_t>(value));
  const double size = std::abs(value);
  const char* sign = value < 0 ? "-" : "";
  if (size < 1e-3 || size >= 1e15) return fmt::format("{}{:.2e}", sign, size);
  return sign + (size >= 1000 ? grouped_text(static_cast<int64_t>(std::llround(size)))
                 : size < 1   ? fmt::format("{:.3g}", size)
                              : three_digits(size));
}

std::string seconds_text(double seconds) {
  static constexpr std::array<std::string_view, 4> kUnits{"ns", "µs", "ms", "s"};
  if (std::abs(seconds) > 1e15) return fmt::format("{:.2e} s", seconds);
  return in_units(seconds * 1e9, 1000, kUnits);
}

}  // namespace

Names Ordered::names() const {
  Names all;
  for (const Names& place : places) all.insert(all.end(), place.begin(), place.end());
  return all;
}

std::string to_text(const Value& value) {
  if (const LessonNumber* number = std::get_if<LessonNumber>(&value)) {
    return number->counts == Counts::Bytes     ? bytes_text(number->value)
           : number->counts == Counts::Seconds ? seconds_text(number->value)
                                               : things_text(number->value);
  }
  if (const bool* yes = std::get_if<bool>(&value)) return *yes ? "yes" : "no";
  if (const std::string* text = std::get_if<std::string>(&value)) return *text;
  if (const Shape* shape = std::get_if<Shape>(&value)) return to_string(*shape);
  if (const Names* names = std::get_if<Names>(&value)) return join(*names);
  Names places;
  for (const Names& place : std::get<Ordered>(value).places)
    places.push_back(fmt::format("{}", fmt::join(place, " = ")));
  return join(places);
}

std::string kind_of(const Value& value) {
  static const char* const kKinds[] = {"a number", "a yes or no",     "a text",
                                       "a shape",  "a list of names", "an order"};
  return kKinds[value.index()];
}

}  // namespace shardlens
