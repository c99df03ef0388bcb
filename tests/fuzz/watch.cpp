// Reads messages as a person would.
#include "tests/fuzz/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

namespace shardlens::fuzz {
namespace {

constexpr size_t kLongestMessage = 2000;

}  // namespace

std::string escaped(const std::string& text, size_t most_bytes) {
  std::string out;
  for (const char byte : text.substr(0, most_bytes)) {
    const auto code = static_cast<unsigned char>(byte);
    out += code < 32 || code > 126 ? fmt::format("\\x{:02x}", code) : std::string(1, byte);
  }
  return text.size() > most_bytes ? out + "…" : out;
}

std::string wrong_with(const std::string& message, const std::string& folder) {
  if (message.find(folder) == std::string::npos) return "does not name the file";
  if (message.size() > kLongestMessage) return "says too much";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
  if (std::any_of(message.begin(), message.end(), is_control)) return "holds control characters";
  // "sentencepiece" alone is the name of a tokenizer.
  static const std::regex words(
      "json\\.exception|nlohmann|sentencepiece[:_./(]|\\.cc\\b|basic_|std::|filesystem "
      "error|bad_alloc|vector::|map::|string::|"
      "regex_|regex error|darts|terminate|_M_|INTERNAL|INVALID_ARG|iostream");
  std::smatch found;
  if (std::regex_search(message, found, words))
    return fmt::format("has a library's words (\"{}\")", found.str());
  const std::string same =
      nlohmann::json(message).dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore);
  return nlohmann::json::parse(same) == nlohmann::json(message) ? "" : "is no UTF-8";
}

}  // namespace shardlens::fuzz
