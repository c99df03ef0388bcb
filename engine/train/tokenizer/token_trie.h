// Finds the longest of many strings with which a text begins, in one walk over its letters.
#pragma once

#include <unicode/bytestrie.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardlens {

/// The longest string that a TokenTrie takes, in bytes. A walk never goes further, so that a text takes time
/// linear in its length, whatever a file holds.
inline constexpr size_t kLongestTrieBytes = 1024;

class TokenTrie {
 public:
  struct Match {
    size_t length = 0;  ///< in bytes; 0: none
    int32_t id = 0;
  };

  TokenTrie() = default;
  /// The strings with their ids, each string once, none empty. Throws a request Error that names `source` if
  /// one is longer than kLongestTrieBytes.
  TokenTrie(const std::vector<std::pair<std::string, int32_t>>& strings, const std::string& source);

  /// The longest string with which `text` begins.
  Match longest(std::string_view text) const;

  /// A place inside the trie.
  using State = uint64_t;
  /// The place after `prefix`; nothing if no string begins with it.
  std::optional<State> after(std::string_view prefix) const;
  /// The longest string that is the prefix of `state` and a beginning of `text`; its length without the
  /// prefix.
  Match longest(std::string_view text, State state) const;

 private:
  std::shared_ptr<const icu::BytesTrie> trie_;  // null: no strings
  std::array<bool, 256> begins_{};              // the first bytes of the strings
};

}  // namespace shardlens
