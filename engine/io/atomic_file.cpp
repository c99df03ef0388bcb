// Writes a file that appears whole or not at all.
#include "engine/io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"

namespace shardlens {
namespace {

// In the same folder as the target, so that the move stays within one file system. The name is unique among
// processes and within this one.
std::string temporary_name(const std::string& path) {
  static std::atomic<int> counter{0};
  return fmt::format("{}.{}-{}.part", path, getpid(), counter++);
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

// Returns the path through which a file without a name can be given one.
std::string handle_of(int file) {
  return fmt::format("/proc/self/fd/{}", file);
}

// Opens a file without a name, so that a kill leaves nothing. Returns -1 if the file system has no such
// files.
int open_nameless(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0 || access(handle_of(file).c_str(), F_OK) == 0) return file;
  close(file);
  return -1;
}

// Zeros: no file.
std::pair<dev_t, ino_t> file_at(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? std::pair(facts.st_dev, facts.st_ino) : std::pair<dev_t, ino_t>();
}

}  // namespace

std::string target_of(const std::string& path) {
  std::error_code dangling;
  if (!std::filesystem::is_symlink(path, dangling)) return path;
  const std::string target = std::filesystem::canonical(path, dangling);
  return dangling ? path : target;
}

AtomicFile::AtomicFile(const std::string& name, const OutputKind& kind)
    : path_(target_of(name)), temporary_path_(temporary_name(path_)), kind_(kind) {
  const std::string& path = path_;
  std::error_code unknown;  // whoever opens it is told
  if (std::filesystem::is_directory(path, unknown))
    throw request_error(fmt::format("cannot write {}: it is a folder", path));
  // Do not replace /dev/null, or anything else that other programs read from.
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown))
    throw request_error(fmt::format("cannot write {}: it is a device or a pipe; name a file", path));
  require_replaceable();
  // A name that this file system cannot have is refused now, not when the work is done.
  struct stat unused {};
  if (lstat(temporary_path_.c_str(), &unused) != 0 && errno != ENOENT) refuse();
  replaced_ = file_at(path);
  file_ = open_nameless(folder_of(path));
  named_ = file_ < 0;
  if (named_) file_ = open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) refuse();
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  close(file_);
  if (named_) unlink(temporary_path_.c_str());
}

void AtomicFile::refuse() const {
  throw request_error(fmt::format("cannot write {}: {}", path_, reason_and_remedy(errno, Refused::Write)));
}

void AtomicFile::fail(const char* what) const {
  throw run_error(fmt::format("cannot {} {}: {}", what, path_, reason_and_remedy(errno, Refused::Write)));
}

void AtomicFile::require_replaceable() const {
  shardlens::require_replaceable(path_, kind_, kind_.is_updated);
}

void AtomicFile::write(const void* data, size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, from, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    from += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit(Reaches reaches) {
  if (file_at(path_) != replaced_) require_replaceable();
  if (reaches == Reaches::Disk && fsync(file_) != 0) fail("flush");
  if (!named_ &&
      linkat(AT_FDCWD, handle_of(file_).c_str(), AT_FDCWD, temporary_path_.c_str(), AT_SYMLINK_FOLLOW) != 0)
    fail("create");
  named_ = true;
  if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) fail("rename the temporary file to");
  close(file_);
  file_ = -1;
  if (reaches == Reaches::System) return;
  // Synchronising the folder brings the move itself to the disk. If a folder cannot be synchronised, the file
  // is still whole.
  const int folder_file = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_file < 0) return;
  fsync(folder_file);
  close(folder_file);
}

void write_file_atomically(const std::string& path, const OutputKind& kind, const std::string& text,
                           AtomicFile::Reaches reaches) {
  AtomicFile file(path, kind);
  file.write(text.data(), text.size());
  file.commit(reaches);
}

void require_writable(const std::string& path, const OutputKind& kind) {
  const AtomicFile place(path, kind);
}

}  // namespace shardlens
