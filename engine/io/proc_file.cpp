// Reads with the system's calls.
#include "engine/io/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace shardlens {

std::optional<std::string> read_proc_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<std::string> text = rest_of_proc_file(file);
  close(file);
  return text;
}

std::optional<std::string> rest_of_proc_file(int file) {
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t got = read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
  }
}

}  // namespace shardlens
