// Reads folders from the environment.
#include "engine/io/user_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string user_folder(const char* variable, const char* under_home) {
  if (const char* base = std::getenv(variable); base != nullptr && *base == '/')
    return std::string(base) + "/shardlens";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/" + under_home + "/shardlens";
  return {};
}

fs::path temporary_folder() {
  fs::path folder = "/tmp";
  for (const char* name : {"TEMPDIR", "TEMP", "TMP", "TMPDIR"})  // the last one that is set counts
    if (const char* named = std::getenv(name); named != nullptr && *named != '\0') folder = named;
  std::error_code error;
  if (fs::is_directory(folder, error)) return fs::absolute(folder);
  throw request_error(fmt::format(
      "there is no folder for temporary files at {}: set TMPDIR to a folder that exists", folder.string()));
}

fs::path private_folder() {
  const fs::path folder = temporary_folder() / fmt::format("shardlens-cache-{}", geteuid());
  const bool made = mkdir(folder.c_str(), S_IRWXU) == 0;
  const int reason = errno;
  struct stat facts {};
  if (lstat(folder.c_str(), &facts) != 0)
    throw request_error(fmt::format("cannot make the folder {}: {}; or set HOME", folder.string(),
                                    reason_and_remedy(made ? errno : reason, Refused::Write)));
  const bool others_write = (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || others_write)
    throw request_error(fmt::format(
        "{} is not used, because it is not a folder that only you can write to: remove it, or set "
        "HOME or XDG_CACHE_HOME to a folder of your own",
        folder.string()));
  return folder;
}

}  // namespace shardlens
