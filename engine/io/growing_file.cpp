// Compares the open file with the one at its path before every addition.
#include "engine/io/growing_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"

namespace shardlens {
namespace {

// Everything in an open file, also in one that has no name any more.
std::string contents_of(int file, off_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t more = pread(file, text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    got += static_cast<size_t>(more);
  }
  text.resize(got);
  return text;
}

}  // namespace

GrowingFile::GrowingFile(const std::string& path, const OutputKind& kind, const std::string& text)
    : path_(path), kind_(kind), head_(text.substr(0, text.find('\n') + 1)) {
  begin(text);
}

GrowingFile::~GrowingFile() {
  if (file_ >= 0) close(file_);
}

void GrowingFile::begin(const std::string& text) {
  write_file_atomically(path_, kind_, text);
  open_again();
}

void GrowingFile::open_again() {
  if (file_ >= 0) close(file_);
  file_ = open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (file_ < 0) throw run_error(fmt::format("cannot write {}: {}", path_, reason_and_remedy(errno)));
}

std::string GrowingFile::find_again() {
  struct stat mine {
  }, there{};
  if (fstat(file_, &mine) != 0) return {};
  if (stat(path_.c_str(), &there) == 0) {
    if (there.st_ino == mine.st_ino && there.st_dev == mine.st_dev) return {};
    try {
      require_replaceable(path_, kind_, true);
    } catch (const Error& error) {
      throw run_error(error.what());
    }
    open_again();
    return fmt::format(
        "{} was replaced by another file while it was written: what follows goes into that one", path_);
  }
  if (mine.st_nlink > 0) {
    begin(head_);
    return fmt::format("{} was moved away while it was written: what follows goes into a new file", path_);
  }
  begin(contents_of(file_, mine.st_size));
  return fmt::format("{} was deleted while it was written: it is there again, with everything that was in it",
                     path_);
}

std::string GrowingFile::append(const std::string& lines) {
  std::string said = find_again();
  struct stat before {};
  if (fstat(file_, &before) != 0) before.st_size = -1;
  size_t done = 0;
  while (done < lines.size()) {
    const ssize_t written = write(file_, lines.data() + done, lines.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      if (before.st_size >= 0 && done > 0) (void)!ftruncate(file_, before.st_size);  // no half of a line
      throw run_error(fmt::format("cannot write {}: {}", path_, reason_and_remedy(reason)));
    }
    done += static_cast<size_t>(written);
  }
  return said;
}

}  // namespace shardlens
