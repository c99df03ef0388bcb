// Allows one writer at a time, with a lock that the system releases when its holder ends in any way.
#include "engine/io/sole_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"

namespace shardlens {
namespace {

// Lock files are empty.
bool is_empty(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 && facts.st_size == 0;
}

// False if the file was removed or made again between open and lock.
bool is_at(int file, const std::string& path) {
  struct stat opened {
  }, named{};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

SoleWriter::SoleWriter(const std::string& path) : lock_path_(lock_of(path)) {
  do {
    if (file_ >= 0) close(file_);
    file_ = open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file_ < 0) return;  // if this path cannot be written, the first write reports it
    if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(file_);
      file_ = -1;
      throw request_error(fmt::format(
          "another run is writing to {} now: wait until it ends, or give this run another path", path));
    }
  } while (!is_at(file_, lock_path_));
  if (is_empty(file_)) cleanup_.emplace(lock_path_);
}

SoleWriter::~SoleWriter() {
  if (file_ < 0) return;
  cleanup_.reset();
  if (is_empty(file_) && is_at(file_, lock_path_)) unlink(lock_path_.c_str());  // not another run's file
  close(file_);
}

}  // namespace shardlens
