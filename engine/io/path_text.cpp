// Writes paths as a URI does, where they are not UTF-8.
#include "engine/io/path_text.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "engine/base/utf8.h"

namespace shardlens {
namespace {

constexpr std::string_view kScheme = "file:";

}  // namespace

std::string path_text(const std::string& path) {
  if (is_utf8(path) && !path.starts_with(kScheme)) return path;
  std::string text(kScheme);
  for (const char letter : path) {
    const auto byte = static_cast<unsigned char>(letter);
    byte >= 0x80 || letter == '%' ? text += fmt::format("%{:02X}", byte) : text += letter;
  }
  return text;
}

std::string path_of(const std::string& text) {
  if (!text.starts_with(kScheme)) return text;
  std::string path;
  for (size_t at = kScheme.size(); at < text.size(); ++at) {
    unsigned byte = 0;
    const char* const digits = text.data() + at + 1;
    const bool is_byte = text[at] == '%' && at + 2 < text.size() &&
                         std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    path += is_byte ? static_cast<char>(byte) : text[at];
    if (is_byte) at += 2;
  }
  return path;
}

}  // namespace shardlens
