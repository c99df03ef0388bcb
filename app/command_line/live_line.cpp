// Uses the two control codes that every terminal has: go back to the start of the line, and clear it.
#include "app/command_line/live_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <limits>

#include "app/command_line/standard_streams.h"

namespace shardlens::cli {
namespace {

constexpr std::chrono::milliseconds kAtLeast{100};

// Returns the number of bytes of the first `columns` characters.
size_t bytes_of(const std::string& text, size_t columns) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && columns-- == 0) break;
  }
  return at;
}

}  // namespace

LiveLine::LiveLine(FILE* out) : out_(out), live_(is_terminal(out)) {}

size_t LiveLine::columns() const {
  winsize size{};
  const bool known = ioctl(file_number(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : std::numeric_limits<size_t>::max();
}

bool LiveLine::is_due() const {
  return live_ && std::chrono::steady_clock::now() - shown_at_ >= kAtLeast;
}

// Goes around the stream, which would show the control codes instead of sending them.
void LiveLine::draw(const std::string& text) {
  std::fflush(out_);
  const std::string line = "\r\033[K" + text;
  [[maybe_unused]] const ssize_t drawn = write(file_number(out_), line.data(), line.size());
}

void LiveLine::show(const std::string& text) {
  if (!live_) return;
  draw(text.substr(0, bytes_of(text, columns())));
  shown_ = true;
  shown_at_ = std::chrono::steady_clock::now();
}

void LiveLine::clear() {
  if (!shown_) return;
  draw("");
  shown_ = false;
}

void LiveLine::keep() {
  if (shown_) std::fputc('\n', out_);
  shown_ = false;
}

}  // namespace shardlens::cli
