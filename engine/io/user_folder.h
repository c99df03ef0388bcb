// Where a person's files lie, by the XDG base directory rules.
#pragma once

#include <string>

namespace shardlens {

/// "$variable/shardlens" where `variable` is set to an absolute path, else "$HOME/under_home/shardlens";
/// empty when the environment names neither.
std::string user_folder(const char* variable, const char* under_home);

}  // namespace shardlens
