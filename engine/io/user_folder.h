// Finds the folders for a user's files, by the XDG base directory rules, and the folder for temporary files.
#pragma once

#include <filesystem>
#include <string>

namespace shardlens {

/// Returns "$variable/shardlens" if `variable` is set to an absolute path, else "$HOME/under_home/shardlens";
/// empty if the environment names neither.
std::string user_folder(const char* variable, const char* under_home);

/// Returns the folder for temporary files: TMPDIR, or /tmp. Throws a request Error if that is not a folder.
std::filesystem::path temporary_folder();

}  // namespace shardlens
