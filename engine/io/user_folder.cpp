// Reads folders from the environment.
#include "engine/io/user_folder.h"

#include <fmt/format.h>

#include <cstdlib>

#include "engine/config/error.h"

namespace shardlens {

std::string user_folder(const char* variable, const char* under_home) {
  if (const char* base = std::getenv(variable); base != nullptr && *base == '/')
    return std::string(base) + "/shardlens";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/" + under_home + "/shardlens";
  return {};
}

std::filesystem::path temporary_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  const char* named = std::getenv("TMPDIR");
  throw request_error(
      fmt::format("there is no folder for temporary files at {}: set TMPDIR to a folder that exists",
                  named == nullptr ? "/tmp" : named));
}

}  // namespace shardlens
