// Finds the folders for a user's files, by the XDG base directory rules, and the folder for temporary files.
#pragma once

#include <filesystem>
#include <string>

namespace shardlens {

/// Returns "$variable/shardlens" if `variable` is set to an absolute path, else "$HOME/under_home/shardlens";
/// empty if the environment names neither.
std::string user_folder(const char* variable, const char* under_home);

/// Returns the folder for temporary files: TMPDIR (or TMP, TEMP, TEMPDIR), or /tmp. An empty variable is as
/// one that is not set. Throws a request Error if that is not a folder.
std::filesystem::path temporary_folder();

/// Returns a folder of this user alone in the folder for temporary files, and makes it if it is not there. It
/// is for files that last, where user_folder() finds no place. Throws a request Error if somebody else made
/// it or may write into it: then what is in it cannot be trusted.
std::filesystem::path private_folder();

}  // namespace shardlens
