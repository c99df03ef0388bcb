// Reads a text, whole or line by line.
#include "engine/io/text_lines.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>

#include "engine/base/error.h"
#include "engine/io/file_kind.h"

namespace shardlens {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

}  // namespace

TextLines::TextLines(const std::string& path, InputFile::Takes takes)
    : file_(path, takes), buffer_(kBufferBytes) {
  while (end_ < kTextBeginningBytes) {  // a pipe gives it in parts
    const size_t got = file_.read_next(buffer_.data() + end_, kTextBeginningBytes - end_);
    if (got == 0) break;
    end_ += got;
  }
  require_text(path, beginning());
}

bool TextLines::fill() {
  at_ = 0;
  end_ = file_.read_next(buffer_.data(), buffer_.size());
  return end_ > 0;
}

bool TextLines::next(std::string& line) {
  line.clear();
  bool begun = false;
  while (at_ < end_ || fill()) {
    if (!begun) ++number_;
    begun = true;
    const char* const from = buffer_.data() + at_;
    const auto* const line_feed = static_cast<const char*>(std::memchr(from, '\n', end_ - at_));
    const size_t count = line_feed != nullptr ? static_cast<size_t>(line_feed - from) : end_ - at_;
    try {
      line.append(from, count);
    } catch (const std::exception&) {
      throw run_error(
          fmt::format("{}, line {}: there is no memory for this line, of more than {} bytes; divide it, or "
                      "choose another text",
                      file_.path(), number_, line.size()));
    }
    const size_t taken = count + (line_feed != nullptr ? 1 : 0);
    at_ += taken;
    bytes_ += static_cast<int64_t>(taken);
    if (line_feed != nullptr) return true;
  }
  return begun;
}

std::string read_text(const std::string& path) {
  std::string text = InputFile(path).text();
  require_text(path, std::string_view(text).substr(0, kTextBeginningBytes));
  return text;
}

}  // namespace shardlens
