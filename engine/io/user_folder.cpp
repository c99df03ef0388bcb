// From the environment to a folder.
#include "engine/io/user_folder.h"

#include <cstdlib>

namespace shardlens {

std::string user_folder(const char* variable, const char* under_home) {
  if (const char* base = std::getenv(variable); base != nullptr && *base == '/')
    return std::string(base) + "/shardlens";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/" + under_home + "/shardlens";
  return {};
}

}  // namespace shardlens
