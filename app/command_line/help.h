// How --help is laid out: descriptions in a column of their own, broken between words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace shardlens::cli {

/// Gives a program and its verbs help of at most 100 columns. Verbs added later take it over.
void lay_out_help(CLI::App& app);

/// `text` in lines of at most `columns` characters, broken at spaces; a longer word has a line of its own.
/// Line ends in it stay.
std::string broken_into_lines(const std::string& text, size_t columns);

}  // namespace shardlens::cli
