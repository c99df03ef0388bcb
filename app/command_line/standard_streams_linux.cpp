// Puts streams of our own behind the names stdout and stderr.
#include "app/command_line/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/command_line/messages.h"
#include "engine/base/shown.h"
#include "engine/base/utf8.h"
#include "engine/io/file_problem.h"

namespace shardlens::cli {
namespace {

// Has no destructor: the library still flushes stdout after those of main.
struct Stream {
  int file;
  bool escapes = true;
  std::atomic<bool> failed = false;
  std::array<char, 4> begun{};  // a character whose other bytes have not been printed yet
  size_t begun_bytes = 0;
};
Stream output{STDOUT_FILENO}, messages{STDERR_FILENO};

void keep_standard_streams() {
  int file = 0;
  do file = open("/dev/null", O_RDONLY);  // the lowest number that is free; nothing can be written to it
  while (file >= 0 && file <= STDERR_FILENO);
  if (file > STDERR_FILENO) close(file);
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// The number of bytes at the end of `text` that begin a character and do not end it.
size_t begun_bytes(std::string_view text) {
  for (size_t count = 1; count <= std::min<size_t>(text.size(), 3); ++count) {
    const char first = text[text.size() - count];
    if (!is_inside_character(first)) return character_bytes(first) > count ? count : 0;
  }
  return 0;
}

std::string escaped(Stream& stream, std::string_view printed) {
  std::string text(stream.begun.data(), stream.begun_bytes);
  text += printed;
  stream.begun_bytes = begun_bytes(text);
  text.copy(stream.begun.data(), stream.begun_bytes, text.size() - stream.begun_bytes);
  text.resize(text.size() - stream.begun_bytes);
  return printable(text);
}

// Takes everything, also what cannot be written.
ssize_t take_printed(void* cookie, const char* data, size_t bytes) {
  Stream& stream = *static_cast<Stream*>(cookie);
  const std::string_view printed(data, bytes);
  const auto taken = static_cast<ssize_t>(bytes);
  if (stream.failed) return taken;
  if (stream.escapes ? write_all(stream.file, escaped(stream, printed)) : write_all(stream.file, printed))
    return taken;
  const std::string why = reason_and_remedy(errno, Refused::Write);
  stream.failed = true;
  if (&stream == &output)
    say(fmt::format("cannot write to standard output: {}; what is printed from here on is lost", why));
  return taken;
}

void put_behind(FILE*& name, Stream& stream, int buffering) {
  FILE* const ours = fopencookie(&stream, "w", {nullptr, take_printed, nullptr, nullptr});
  if (ours == nullptr) return;
  std::setvbuf(ours, nullptr, buffering, BUFSIZ);
  std::fflush(name);
  name = ours;
}

}  // namespace

void prepare_standard_streams() {
  keep_standard_streams();
  output.escapes = is_terminal(stdout);
  put_behind(stdout, output, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF);
  put_behind(stderr, messages, _IONBF);
}

bool standard_output_failed() {
  return output.failed;
}

bool is_terminal(FILE* stream) {
  return isatty(file_number(stream)) != 0 && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
}

int file_number(FILE* stream) {
  return stream == stderr ? STDERR_FILENO : STDOUT_FILENO;
}

}  // namespace shardlens::cli
