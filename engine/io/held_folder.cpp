// Keeps the files of folders open, and finds them by their paths.
#include "engine/io/held_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>

namespace shardlens {
namespace {

constexpr int kAttempts = 1000;  // each takes far less time than saving a checkpoint

std::mutex mutex;
std::vector<const std::vector<HeldFolder::File>*> held;

void close_all(std::vector<HeldFolder::File>& files) {
  for (const HeldFolder::File& file : files) close(file.descriptor);
  files.clear();
}

// True if `folder` is the name of the opened folder.
bool is_named(int opened, const std::string& folder) {
  struct stat mine {
  }, there{};
  return fstat(opened, &mine) == 0 && stat(folder.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

// Opens the regular files of a folder. A pipe is not waited for.
std::vector<HeldFolder::File> files_of(DIR* entries, const std::string& folder) {
  std::vector<HeldFolder::File> files;
  while (const dirent* entry = readdir(entries)) {
    const int file = openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat facts {};
    if (file >= 0 && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode))
      files.push_back({(std::filesystem::path(folder) / entry->d_name).string(), file});
    else if (file >= 0)
      close(file);
  }
  return files;
}

}  // namespace

HeldFolder::HeldFolder(const std::string& folder) {
  // A folder is removed only after it has lost its name: if it still has it, no file was missing.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    DIR* const entries = opendir(folder.c_str());
    if (entries == nullptr) return;
    files_ = files_of(entries, folder);
    const bool whole = is_named(dirfd(entries), folder);
    closedir(entries);
    if (whole) break;
    close_all(files_);
  }
  const std::lock_guard lock(mutex);
  held.push_back(&files_);
}

HeldFolder::~HeldFolder() {
  {
    const std::lock_guard lock(mutex);
    std::erase(held, &files_);
  }
  close_all(files_);
}

int open_held(const std::string& path) {
  const std::lock_guard lock(mutex);
  for (const auto* files : held)
    for (const HeldFolder::File& file : *files)
      if (file.path == path) return fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0);
  return -1;
}

}  // namespace shardlens
