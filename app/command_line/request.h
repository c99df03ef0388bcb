// What a command line may say, before any verb looks at it: values are read strictly, and what the parser
// refuses is said in a sentence that names the option, what was given and what would work.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace shardlens::cli {

/// The type of an option that takes any words, none too.
inline constexpr const char* kWords = "WORDS";

/// Every option of the verb that takes a number takes nothing else: decimal digits, within 64 bits or finite,
/// no sign before a seed. And none but kWords takes an empty value, as a variable has that is not set: the
/// option would seem to be left out; or the next option for its value. To be called once all of them are
/// there.
void read_values_strictly(CLI::App& verb);

/// One of `names`, or a request that names the nearest.
CLI::Validator one_of(const std::string& what, std::vector<std::string> names);
/// A name that nothing has yet: a run does not write over another's file.
CLI::Validator new_file();
CLI::Validator at_least_zero();
CLI::Validator between(int64_t least, int64_t most);
CLI::Validator between(double least, double most);

/// What was wrong with the command line, which ended with `last_word`, and what would be right; one line
/// without its end.
std::string sentence_of(const CLI::ParseError& error, const CLI::App& app, const std::string& last_word);

}  // namespace shardlens::cli
