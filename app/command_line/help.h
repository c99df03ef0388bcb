// What a program says of itself: --help, with descriptions in a column of their own, and --version.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace shardlens::cli {

/// Gives a program and its verbs help of at most 100 columns. Verbs added later take it over.
void lay_out_help(CLI::App& app);

/// --version, which prints the program's name and the project's version.
void add_version(CLI::App& app);

/// `text` in lines of at most `columns` characters, broken at spaces; a longer word has a line of its own.
/// Line ends in it stay.
std::string broken_into_lines(const std::string& text, size_t columns);

/// `lead` and then `text` in lines of at most `columns`, the further ones below where the text begins.
std::string hanging(const std::string& lead, const std::string& text, size_t columns);

}  // namespace shardlens::cli
