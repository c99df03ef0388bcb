// Folders named shardlens-XXXXXX, each locked for as long as it is in use.
#include "engine/io/temporary_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"
#include "engine/io/user_folder.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMadeUp = "XXXXXX";  // mkdtemp chooses these letters
constexpr time_t kMakingSeconds = 60;      // more than the time between making a folder and locking it

int opened(const std::string& folder) {
  return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// A lock on a folder that a killed program may have left. Not held if another program holds it, or if folders
// have no locks.
class Lock {
 public:
  explicit Lock(const std::string& folder) : file_(opened(folder)) {}
  ~Lock() {
    if (file_ >= 0) close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool is_held() const { return file_ >= 0 && flock(file_, LOCK_EX | LOCK_NB) == 0; }

 private:
  int file_;
};

bool is_own_folder(const fs::path& folder, struct stat& facts) {
  return lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
}

// True for a folder that this class made, `seconds` ago or earlier.
bool is_one(const fs::path& folder, time_t seconds) {
  struct stat outer {
  }, inner{};
  return is_own_folder(folder, outer) && is_own_folder(folder / TemporaryFolder::kOwnMark, inner) &&
         outer.st_mtime + seconds < std::time(nullptr);
}

// Removes what is in the mark, then the mark, then the folder if nothing else is in it.
void remove_own(const std::string& outer) {
  std::error_code ignored;
  fs::remove_all(fs::path(outer) / TemporaryFolder::kOwnMark, ignored);
  rmdir(outer.c_str());
}

// `prefix`: the path without the letters that are made up.
void remove_left(const fs::path& prefix, time_t seconds,
                 const std::function<void(const std::string&)>& before_removal) {
  const std::string wanted = prefix.filename().string();
  std::error_code ignored;
  for (fs::directory_iterator at(prefix.parent_path(), ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name.size() != wanted.size() + std::string_view(kMadeUp).size() || !name.starts_with(wanted) ||
        !is_one(at->path(), seconds))
      continue;
    const Lock lock(at->path().string());
    if (!lock.is_held()) continue;
    if (before_removal) before_removal((at->path() / TemporaryFolder::kOwnMark).string());
    remove_own(at->path().string());
  }
}

fs::path prefix_beside(const std::string& path) {
  return fs::absolute(path).string() + ".part-";
}

// Removes what killed programs left, and returns the pattern for a new one.
std::string pattern_in_temporary_folder() {
  const fs::path prefix = temporary_folder() / "shardlens-";
  remove_left(prefix, kMakingSeconds, {});
  return prefix.string() + kMadeUp;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::vector<std::string>& files)
    : TemporaryFolder(pattern_in_temporary_folder(), files, ErrorKind::Request,
                      "; set TMPDIR to another one") {}

TemporaryFolder TemporaryFolder::beside(const std::string& path) {
  return TemporaryFolder(prefix_beside(path).string() + kMadeUp, {}, ErrorKind::Run, "");
}

void TemporaryFolder::remove_left_beside(const std::string& path,
                                         const std::function<void(const std::string&)>& before_removal) {
  remove_left(prefix_beside(path), -1, before_removal);
}

TemporaryFolder::TemporaryFolder(const std::string& pattern, const std::vector<std::string>& files,
                                 ErrorKind refusal, const char* remedy)
    : outer_(pattern) {
  const bool made = mkdtemp(outer_.data()) != nullptr;
  path_ = (fs::path(outer_) / kOwnMark).string();
  // A file system without locks locks nothing, and what a killed program leaves there stays.
  if (made) lock_ = opened(outer_);
  if (!made || lock_ < 0 || mkdir(path_.c_str(), 0777) != 0) {
    const int reason = errno;
    if (lock_ >= 0) close(lock_);
    if (made) rmdir(outer_.c_str());
    throw Error(refusal,
                fmt::format("cannot make a folder in {}: {}{}", fs::path(pattern).parent_path().string(),
                            reason_and_remedy(reason, Refused::Write), remedy));
  }
  flock(lock_, LOCK_EX | LOCK_NB);
  cleanup_.emplace_back(outer_);
  cleanup_.emplace_back(path_);
  for (const std::string& file : files) cleanup_.emplace_back(path_of(file));
}

void TemporaryFolder::leave() {
  left_ = true;
  cleanup_.clear();
}

TemporaryFolder::~TemporaryFolder() {
  if (!left_) remove_own(outer_);
  if (lock_ >= 0) close(lock_);
}

}  // namespace shardlens
