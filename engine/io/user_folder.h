// Where a person's files lie, by the XDG base directory rules, and those that nobody keeps.
#pragma once

#include <filesystem>
#include <string>

namespace shardlens {

/// "$variable/shardlens" where `variable` is set to an absolute path, else "$HOME/under_home/shardlens";
/// empty when the environment names neither.
std::string user_folder(const char* variable, const char* under_home);

/// Where files that nobody keeps are made: what TMPDIR names, or /tmp. Throws a request Error where that is
/// no folder.
std::filesystem::path temporary_folder();

}  // namespace shardlens
