// A derivation as plain text: the relations below each other, the remarks in a column.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/utf8.h"
#include "engine/derivation/derivation.h"

namespace shardlens {
namespace {

constexpr size_t kMostLeft = 16;   // characters of the left sides that are aligned
constexpr size_t kMostWidth = 76;  // longer lines have their remark on a line below

std::string padded(const std::string& text, size_t width) {
  const size_t has = character_count(text);
  return has < width ? text + std::string(width - has, ' ') : text;
}

}  // namespace

std::string to_text(const Derivation& derivation) {
  size_t left_width = 0;
  for (const DerivationLine& line : derivation.lines)
    if (!line.left.empty())
      left_width = std::max(left_width, std::min(kMostLeft, character_count(to_text(line.left.front()))));
  std::vector<std::string> formulas;
  size_t width = 0;
  for (const DerivationLine& line : derivation.lines) {
    const std::string left = line.left.empty() ? "" : to_text(line.left.front());
    const std::string sign = padded(to_text(line.relation), 1);
    formulas.push_back(fmt::format("  {} {} {}", padded(left, left_width), sign, to_text(line.right)));
    const size_t own = character_count(formulas.back());
    if (own <= kMostWidth) width = std::max(width, own);
  }
  std::string text = derivation.title + "\n\n";
  for (size_t at = 0; at < formulas.size(); ++at) {
    const std::string& remark = derivation.lines[at].remark;
    const bool is_long = character_count(formulas[at]) > width;
    if (remark.empty())
      text += formulas[at] + "\n";
    else if (is_long)
      text += formulas[at] + "\n" + std::string(left_width + 5, ' ') + "(" + remark + ")\n";
    else
      text += padded(formulas[at], width) + "   " + remark + "\n";
  }
  for (const std::string& sentence : {derivation.then, derivation.why})
    if (!sentence.empty()) text += "\n" + sentence + "\n";
  return text;
}

}  // namespace shardlens
