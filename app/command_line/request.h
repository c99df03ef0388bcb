// Checks a command line before any verb runs. Values are read strictly, and every refusal is a sentence that
// names the option, the given value and what would work.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace shardlens::cli {

/// The type of an option that takes any text, also an empty one.
inline constexpr const char* kWords = "WORDS";

/// Makes the options of the verb strict. Call it after all options are added. An option with a number takes
/// only decimal digits, within 64 bits or finite; a seed has no sign. Only kWords options take an empty value
/// (it often comes from a variable that is not set, and would look like a missing option) or the next option
/// as their value.
void read_values_strictly(CLI::App& verb);

/// Parses the words of a command line; words[0] is the program. An option that ends in "=" has an empty
/// value: the parser alone would take the next word for it. Throws what CLI::App::parse() throws, and a
/// request Error if a flag, which takes no value, ends so.
void parse_words(CLI::App& app, int count, const char* const* words);

/// Accepts one of `names`; the message for another text names the nearest.
CLI::Validator one_of(const std::string& what, std::vector<std::string> names);
CLI::Validator at_least_zero();
CLI::Validator between(int64_t least, int64_t most);
CLI::Validator between(double least, double most);

/// Returns one line that says what was wrong with the command line and what would work. `last_word` is the
/// last word of the command line.
std::string sentence_of(const CLI::ParseError& error, const CLI::App& app, const std::string& last_word);

}  // namespace shardlens::cli
