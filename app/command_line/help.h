// A program's --help, with descriptions in their own column, and its --version.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace shardlens::cli {

/// Sets the layout of --help for a program: at most 100 columns. Verbs that are added later inherit it.
void lay_out_help(CLI::App& app);

/// Adds --version, which prints the program's name and the project's version.
void add_version(CLI::App& app);

/// Prints what --help or --version asked for, and returns 0.
int print_help(const CLI::App& app, const CLI::ParseError& asked);

/// Breaks `text` at spaces into lines of at most `columns` characters. A longer word gets its own line. Line
/// ends in the text stay.
std::string broken_into_lines(const std::string& text, size_t columns);

/// Returns `lead` and then `text` in lines of at most `columns` characters. Further lines are indented to
/// where the text begins.
std::string hanging(const std::string& lead, const std::string& text, size_t columns);

}  // namespace shardlens::cli
