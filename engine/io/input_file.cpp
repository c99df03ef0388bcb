// Reads a file by position.
#include "engine/io/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "engine/config/error.h"

namespace shardlens {

InputFile::InputFile(const std::string& path)
    : path_(path), file_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (file_ < 0) throw request_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  struct stat status {};
  if (fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file_);
    throw request_error(fmt::format("{} is not a regular file", path));
  }
  size_ = status.st_size;
}

InputFile::~InputFile() {
  close(file_);
}

void InputFile::read(int64_t offset, void* out, size_t bytes) const {
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = pread(file_, to, bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw run_error(fmt::format("cannot read {} at byte {}: {}", path_, offset, std::strerror(errno)));
    if (got == 0) {
      throw run_error(
          fmt::format("{} ends at byte {}, where {} more bytes are expected", path_, offset, bytes));
    }
    to += got;
    offset += got;
    bytes -= static_cast<size_t>(got);
  }
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
  return text;
}

}  // namespace shardlens
