// Reads a file by position, or a pipe from its beginning to its end.
#include "engine/io/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"
#include "engine/io/held_folder.h"
#include "engine/io/inputs.h"

namespace shardlens {
namespace {

bool is_pipe_or_device(const struct stat& status) {
  return S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
}

// A pipe that is not wanted must not be waited for, so it is opened without waiting and refused afterwards.
int open_to_read(const std::string& path, InputFile::Takes takes) {
  if (const int opened = open_held(path); opened >= 0) return opened;
  struct stat status {};
  const bool waits = takes == InputFile::Takes::FilesAndPipes && stat(path.c_str(), &status) == 0 &&
                     is_pipe_or_device(status);
  int file = -1;
  do file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (waits ? 0 : O_NONBLOCK));
  while (file < 0 && errno == EINTR);
  return file;
}

}  // namespace

InputFile::InputFile(const std::string& path, Takes takes) : path_(path), file_(open_to_read(path, takes)) {
  if (file_ < 0)
    throw request_error(fmt::format("cannot open {}: {}", path, reason_and_remedy(errno, Refused::Read)));
  struct stat status {};
  const bool known = fstat(file_, &status) == 0;
  // Other devices never end (/dev/zero), or hold no file.
  is_pipe_ = known && takes == Takes::FilesAndPipes &&
             (S_ISFIFO(status.st_mode) || (S_ISCHR(status.st_mode) && isatty(file_) != 0));
  if (!known || (!S_ISREG(status.st_mode) && !is_pipe_)) {
    close(file_);
    throw request_error(
        fmt::format("{} is not a regular file{}", path, takes == Takes::FilesAndPipes ? " or a pipe" : ""));
  }
  size_ = is_pipe_ ? 0 : status.st_size;
  note_input(file_);
}

InputFile::~InputFile() {
  close(file_);
}

size_t InputFile::read_some(int64_t offset, void* out, size_t bytes) const {
  while (true) {
    const ssize_t got = is_pipe_ ? ::read(file_, out, bytes) : pread(file_, out, bytes, offset);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR)
      throw run_error(fmt::format("cannot read {} at byte {}: {}", path_, offset, std::strerror(errno)));
  }
}

void InputFile::read(int64_t offset, void* out, size_t bytes) const {
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    const size_t got = read_some(offset, to, bytes);
    if (got == 0) {
      throw run_error(
          fmt::format("{} ends at byte {}, where {} more bytes are expected", path_, offset, bytes));
    }
    to += got;
    offset += static_cast<int64_t>(got);
    bytes -= got;
  }
}

size_t InputFile::read_next(void* out, size_t bytes) {
  const size_t got = read_some(next_, out, bytes);
  next_ += static_cast<int64_t>(got);
  return got;
}

std::string InputFile::text() const {
  std::string text;
  try {
    text.resize(static_cast<size_t>(size_));
  } catch (const std::exception&) {
    throw request_error(
        fmt::format("{} has {} bytes, and there is no memory for them: give a smaller file", path_, size_));
  }
  read(0, text.data(), text.size());
  // Files of the system state a size of 0, whatever they hold.
  std::array<char, 4096> more;
  while (const size_t got = read_some(static_cast<int64_t>(text.size()), more.data(), more.size()))
    text.append(more.data(), got);
  return text;
}

}  // namespace shardlens
