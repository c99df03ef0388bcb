// Folders named shardlens-XXXXXX, each locked for as long as it is in use.
#include "engine/io/temporary_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "engine/config/error.h"
#include "engine/io/user_folder.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPattern = "shardlens-XXXXXX";
constexpr size_t kMadeUp = 6;          // letters of a name that mkdtemp chooses
constexpr time_t kMakingSeconds = 60;  // more than the time between making a folder and locking it

// Returns -1 if another program holds the lock, or if folders have no locks.
int locked(const std::string& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  return -1;
}

bool is_ours_and_old(const fs::path& folder) {
  struct stat facts {};
  return lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         facts.st_mtime + kMakingSeconds < std::time(nullptr);
}

void remove_abandoned(const fs::path& where) {
  const std::string pattern = kPattern;
  std::error_code ignored;
  for (fs::directory_iterator at(where, ignored), end; !ignored && at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    const bool is_one = name.size() == pattern.size() &&
                        name.compare(0, name.size() - kMadeUp, pattern, 0, pattern.size() - kMadeUp) == 0;
    if (!is_one || !is_ours_and_old(at->path())) continue;
    const int lock = locked(at->path().string());
    if (lock < 0) continue;
    std::error_code left;
    fs::remove_all(at->path(), left);
    close(lock);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::vector<std::string>& files)
    : path_((temporary_folder() / kPattern).string()) {
  const fs::path where = fs::path(path_).parent_path();
  remove_abandoned(where);
  if (mkdtemp(path_.data()) == nullptr)
    throw request_error(fmt::format("cannot make a folder in {}: {}; set TMPDIR to another one",
                                    where.string(), std::strerror(errno)));
  lock_ = locked(path_);
  fleeting_.emplace_back(path_);
  for (const std::string& file : files) fleeting_.emplace_back(path_of(file));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace shardlens
