// Walks through all that a lookup in a character map can reach.
#include "engine/train/tokenizer/character_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/base/error.h"

namespace shardlens {
namespace {

constexpr size_t kLargestMapBytes = size_t{16} << 20;  // the usual ones have 0.3 MB
constexpr int kLongestKeyBytes = 255;                  // the characters that one rule replaces
constexpr int kMostNestedRules = 31;                   // SentencePiece has room for the rules of one place
constexpr size_t kLongestTextBytes = 100;  // what a rule gives; more, and a small text would fill the memory

// A node of the trie is the place from which its children are found: the child of byte b is the unit at
// node ^ b, if that unit's label is b.
class Walk {
 public:
  Walk(std::vector<uint32_t> units, std::string_view texts, const std::string& where)
      : units_(std::move(units)), texts_(texts), where_(where), below_(units_.size()) {}

  void run() {
    if (units_.empty()) refuse("its trie is empty");
    visit(offset(units_[0]), 0);
  }

 private:
  // What is reachable below a node. Nodes can be shared by several parents.
  struct Below {
    int bytes = -1;  ///< of the longest key; -1: not visited
    int rules = 0;   ///< the most rules on one way
  };

  static uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
  static bool has_label(uint32_t unit, uint32_t label) { return (unit & 0x800000FFu) == label; }
  static bool has_rule(uint32_t unit) { return (unit >> 8 & 1) != 0; }

  [[noreturn]] void refuse(const char* reason) const {
    throw request_error(fmt::format("{}: \"precompiled_charsmap\" is damaged: {}", where_, reason));
  }

  Below visit(uint32_t node, int depth) {
    if ((node | 0xFFu) >= units_.size()) refuse("its trie leads outside itself");
    Below below = below_[node];
    // A circle never ends: it is found here too.
    if (depth + std::max(below.bytes, 0) > kLongestKeyBytes) refuse("a rule of its trie is too long");
    if (below.bytes >= 0) return below;
    below.bytes = 0;
    for (uint32_t label = 0; label <= 0xFF; ++label) {
      const uint32_t unit = units_[node ^ label];
      if (!has_label(unit, label)) continue;
      const uint32_t child = node ^ label ^ offset(unit);
      const Below further = visit(child, depth + 1);
      if (has_rule(unit)) require_text(units_[child] & 0x7FFFFFFFu);
      below.bytes = std::max(below.bytes, further.bytes + 1);
      below.rules = std::max(below.rules, further.rules + has_rule(unit));
    }
    if (below.rules > kMostNestedRules) refuse("too many rules begin with each other");
    return below_[node] = below;
  }

  void require_text(size_t begin) const {
    if (begin >= texts_.size()) refuse("a rule's text is outside it");
    const size_t length = texts_.substr(begin).find('\0');
    if (length == std::string_view::npos) refuse("a rule's text does not end");
    if (length > kLongestTextBytes) refuse("a rule's text is too long");
  }

  std::vector<uint32_t> units_;
  std::string_view texts_;
  const std::string& where_;
  std::vector<Below> below_;
};

}  // namespace

void require_sound_character_map(std::string_view map, const std::string& where) {
  const auto refuse = [&](const std::string& reason) {
    throw request_error(fmt::format("{}: \"precompiled_charsmap\" {}", where, reason));
  };
  if (map.size() > kLargestMapBytes)
    refuse(fmt::format("has {} bytes; at most {} are supported", map.size(), kLargestMapBytes));
  uint32_t trie_bytes = 0;
  if (map.size() <= sizeof trie_bytes) refuse("ends in the middle");
  std::memcpy(&trie_bytes, map.data(), sizeof trie_bytes);
  map.remove_prefix(sizeof trie_bytes);
  if (trie_bytes > map.size()) refuse("ends in the middle");
  std::vector<uint32_t> units(trie_bytes / sizeof(uint32_t));
  std::copy_n(map.data(), units.size() * sizeof(uint32_t), reinterpret_cast<char*>(units.data()));
  Walk(std::move(units), map.substr(trie_bytes), where).run();
}

}  // namespace shardlens
