// Reads and writes the record in FILE-live and its lock, and keeps the list of running recordings.
#include "engine/record/live_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/io/hash.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/io/input_file.h"
#include "engine/io/user_folder.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMagic = 0x3145'5649'4C4C'4853;  // "SHLLIVE1"
constexpr double kBeatSeconds = 0.4;
constexpr int kLooks = 5;  // attempts to read a record that is being rewritten

struct Record {
  uint64_t magic = kMagic;
  uint64_t generation = 0, beats = 0;
  int64_t committed_unix_ns = 0;
  uint64_t locked = 0;  ///< the writer could lock the file
  std::array<char, 64> host{};
  uint64_t check = 0;  ///< hash of all fields before it
};

// By the old function: a writer and its readers may be of different versions.
uint64_t check_of(const Record& record) {
  return hash_of_version_1(&record, offsetof(Record, check));
}

std::array<char, 64> this_host() {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  return host;
}

struct flock whole(short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool lock(int file) {
  struct flock wish = whole(F_WRLCK);
  return fcntl(file, F_OFD_SETLK, &wish) == 0;
}

// True if `file` is still the file at `path`: it was not removed or replaced since it was opened.
bool stands_at(int file, const std::string& path) {
  struct stat mine {
  }, there{};
  return fstat(file, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

bool is_regular(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string running_folder() {
  const std::string folder = user_folder("XDG_CACHE_HOME", ".cache");
  return folder.empty() ? folder : folder + "/running";
}

// The names of this machine's entries in the list begin with this.
std::string listed_prefix() {
  return std::string(this_host().data()) + "-";
}

// Adds the recording to the list. Returns the entry's path; empty if it cannot be made.
std::string list(const std::string& recording) {
  std::error_code failed;
  const std::string folder = running_folder(), path = fs::absolute(recording, failed).lexically_normal();
  if (folder.empty() || failed) return {};
  fs::create_directories(folder, failed);
  const std::string name =
      fmt::format("{}/{}{:016x}", folder, listed_prefix(), hash64(path.data(), path.size()));
  try {
    write_file_atomically(name, kOwnFile, path, AtomicFile::Reaches::System);
  } catch (const Error&) {
    return {};
  }
  return name;
}

// True if a writer made this file. A file of the same name that somebody else made is left as it is.
bool is_link(int file) {
  uint64_t magic = 0;
  return is_regular(file) && pread(file, &magic, sizeof magic, 0) == sizeof magic && magic == kMagic;
}

// Opens the link's file to write it, and makes it if there is none. Returns -1 if it cannot be written, or if
// what is there is no link.
int open_link(const std::string& path) {
  const int made = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (made >= 0 || errno != EEXIST) return made;
  const int file = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 || is_link(file)) return file;
  close(file);
  return -1;
}

}  // namespace

std::string live_link_path(const std::string& recording) {
  return recording + "-live";
}

LiveLink::LiveLink(const std::string& recording) : path_(live_link_path(recording)) {
  std::error_code ignored;
  if (fs::exists(recording, ignored)) return;  // the file belongs to another run
  for (int attempt = 0; attempt < kLooks && file_ < 0; ++attempt) {
    file_ = open_link(path_);
    if (file_ < 0) return;
    locked_ = lock(file_);
    const bool held = !locked_ && (errno == EAGAIN || errno == EACCES);
    // Another writer whose file was removed still holds the lock. It keeps its own descriptor.
    if (held) unlink(path_.c_str());
    if (!held && stands_at(file_, path_)) break;
    close(file_);
    file_ = -1;
  }
  if (file_ < 0) return;
  committed_unix_ns_ = unix_ns();
  write();
  listed_ = list(recording);
  cleanup_.emplace(path_);
  if (!listed_.empty()) fleeting_listed_.emplace(listed_);
}

LiveLink::~LiveLink() {
  if (file_ < 0) return;
  cleanup_.reset();
  fleeting_listed_.reset();
  if (!listed_.empty()) unlink(listed_.c_str());
  if (stands_at(file_, path_)) unlink(path_.c_str());
  close(file_);
}

void LiveLink::beat() {
  const double now = now_seconds();
  if (now - beaten_seconds_ < kBeatSeconds) return;
  beaten_seconds_ = now;
  ++beats_;
  write();
}

void LiveLink::turn() {
  ++generation_;
  if (generation_ % 2 == 0) committed_unix_ns_ = unix_ns();
  write();
}

void LiveLink::write() {
  if (file_ < 0) return;
  Record record{kMagic, generation_, beats_, committed_unix_ns_, locked_ ? 1u : 0u, this_host(), 0};
  record.check = check_of(record);
  (void)!pwrite(file_, &record, sizeof record, 0);
}

LiveWatch::LiveWatch(const std::string& recording) {
  file_ = open(live_link_path(recording).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) return;
  if (!is_regular(file_)) {  // no writer makes a pipe
    close(file_);
    file_ = -1;
    return;
  }
  const bool readable = look();
  if (!readable) beat_seconds_ = committed_seconds_ = now_seconds();
  saw_lock_ = is_locked();
  if (saw_lock_ || here_ || !readable) return;  // the writer runs, died on this machine, or is being started
  const double until = now_seconds() + kSilentSeconds;
  for (beaten_ = false; !beaten_ && now_seconds() < until; look())
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

LiveWatch::~LiveWatch() {
  if (file_ >= 0) close(file_);
}

bool LiveWatch::is_locked() const {
  struct flock asked = whole(F_WRLCK);
  return fcntl(file_, F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
}

bool LiveWatch::look() {
  Record record;
  bool read = false;
  for (int attempt = 0; attempt < kLooks && !read; ++attempt)
    read = pread(file_, &record, sizeof record, 0) == sizeof record && record.magic == kMagic &&
           record.check == check_of(record);
  if (!read) return false;
  const double now = now_seconds();
  if (record.beats != beats_ || beat_seconds_ == 0) {
    beaten_ = true;
    beat_seconds_ = now;
  }
  const bool same_host = record.host == this_host();
  if (record.committed_unix_ns != committed_unix_ns_) {
    const double ago = static_cast<double>(unix_ns() - record.committed_unix_ns) * 1e-9;
    // Another machine's clock is not comparable: then this is the time at which the commit was first seen.
    committed_seconds_ = now - (same_host ? std::max(0.0, ago) : 0);
  }
  here_ = same_host && record.locked != 0;
  generation_ = record.generation;
  beats_ = record.beats;
  committed_unix_ns_ = record.committed_unix_ns;
  return true;
}

uint64_t LiveWatch::generation() {
  if (file_ >= 0) look();
  return generation_;
}

WriterState LiveWatch::state() {
  if (file_ < 0) return WriterState::Gone;
  look();
  const bool locked = is_locked(), silent = now_seconds() - beat_seconds_ > kSilentSeconds;
  saw_lock_ |= locked;
  if (locked) return silent ? WriterState::Silent : WriterState::Works;
  if (!saw_lock_ && !here_ && beaten_ && !silent) return WriterState::Works;
  close(file_);
  file_ = -1;
  return WriterState::Gone;
}

void remove_dead_link(const std::string& recording) {
  const std::string path = live_link_path(recording);
  const int file = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  Record record;
  const bool mine =
      is_link(file) && pread(file, &record, sizeof record, 0) == sizeof record && record.host == this_host();
  if (mine && lock(file) && stands_at(file, path)) unlink(path.c_str());
  close(file);
}

std::vector<std::string> running_recordings() {
  std::vector<std::string> running;
  const std::string folder = running_folder();
  if (folder.empty()) return running;
  std::error_code failed;
  fs::directory_iterator entries(folder, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
    if (!entries->path().filename().string().starts_with(listed_prefix())) continue;
    std::string path;
    try {
      path = InputFile(entries->path().string()).text();
    } catch (const Error&) {
      continue;  // another process may have removed it
    }
    if (LiveWatch(path).state() != WriterState::Gone)
      running.push_back(path);
    else
      fs::remove(entries->path(), failed);
  }
  std::sort(running.begin(), running.end());
  // An entry that an older version left has another name for the same path.
  running.erase(std::unique(running.begin(), running.end()), running.end());
  return running;
}

}  // namespace shardlens
