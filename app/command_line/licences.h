// What --licences prints: the works of others that a program contains, with their licences.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace shardlens::cli {

/// Adds --licences, which prints licences_text() of the program.
void add_licences(CLI::App& app);

/// Returns the list for "shardlens" or "shardlens-cli", from the tables of `notices` (THIRD_PARTY.md).
std::string licences_text(const std::string& program, std::string_view notices);

}  // namespace shardlens::cli
