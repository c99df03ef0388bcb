// What a program says on stderr, and the exit codes of one that did not do what was asked.
#pragma once

#include <exception>
#include <string>

namespace shardlens::cli {

inline constexpr int kWrongRequest = 2, kFailedRun = 3;

/// Returns one of these two.
int exit_code_of(const std::exception& error);

/// Sets the name that messages begin with.
void set_program_name(const char* name);

/// Prints the program's name and the text on stderr, if stderr is open. A very long text is shortened.
void say(const std::string& sentence);
void say(const std::exception& error);

}  // namespace shardlens::cli
