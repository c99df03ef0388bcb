// Uses the two control codes that every terminal has: go back to the start of the line, and clear it.
#include "app/command_line/live_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

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

LiveLine::LiveLine(FILE* out)
    : out_(out), live_(isatty(fileno(out)) != 0 && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) {}

size_t LiveLine::columns() const {
  winsize size{};
  const bool known = ioctl(fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : std::numeric_limits<size_t>::max();
}

bool LiveLine::is_due() const {
  return live_ && std::chrono::steady_clock::now() - shown_at_ >= kAtLeast;
}

void LiveLine::show(const std::string& text) {
  if (!live_) return;
  fmt::print(out_, "\r\033[K{}", text.substr(0, bytes_of(text, columns())));
  std::fflush(out_);
  shown_ = true;
  shown_at_ = std::chrono::steady_clock::now();
}

void LiveLine::clear() {
  if (!shown_) return;
  fmt::print(out_, "\r\033[K");
  std::fflush(out_);
  shown_ = false;
}

void LiveLine::keep() {
  if (shown_) fmt::print(out_, "\n");
  shown_ = false;
}

}  // namespace shardlens::cli
