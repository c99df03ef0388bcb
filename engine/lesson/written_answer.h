// How an answer is read that somebody has typed. The studio, the command line and a handout's script
// (assets/handout/answers.js) read by the same rules: what they replace and which units they know is a table
// here, and handouts hold a copy of it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace shardlens {

/// What is longer is no answer.
inline constexpr size_t kLongestWritten = 300;
/// Two numbers are the same if they differ, relatively, by no more: what computing and printing lose.
inline constexpr double kSameNumber = 1e-9;

/// The words without what makes no difference: capital letters, spaces, brackets, the signs of products.
/// "O = C · Wo" and "o=c*wo" become "o=cwo".
std::string plain_words(std::string_view words);

/// A number as people write it: "4.5 KiB", "1,024", "1 024", "0,5", "1e6 bytes", "25 %", "2x".
struct WrittenNumber {
  double value = 0;
  int decimals = 0;  ///< digits after the point; below zero for 2e6
  int digits = 0;    ///< significant ones
  std::string unit;  ///< small letters; empty: none
};
/// None: the words are no number with a unit after it.
std::optional<WrittenNumber> written_number(std::string_view words);

/// The number in another unit, one of lesson_units(): 512 bytes are 0.5 KiB. None: they measure different
/// things, or the unit is unknown. Without a unit it is in this one.
std::optional<double> converted(double number, const std::string& unit, const std::string& wanted);

/// True if who writes `given` says `right`, which is in `unit`: it is as near as `tolerance` (relative)
/// allows, or what a page shows of it, three digits or more.
bool says_number(const WrittenNumber& given, double right, const std::string& unit, double tolerance);

/// The tables, for scripts: {"replaced": [[from, to], …], "units": {word: [what it measures, factor]}}.
nlohmann::ordered_json rules_of_writing();

}  // namespace shardlens
