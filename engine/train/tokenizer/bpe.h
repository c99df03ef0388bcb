// Byte-level byte-pair encoding (Sennrich, Haddow and Birch 2016; over bytes: Radford et al. 2019). A piece
// of text begins with one token per byte. Of all neighbouring pairs, the pair that was learned first is
// merged, until no learned pair is left.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardlens {

/// Two tokens that become one.
struct Merge {
  int32_t left = 0, right = 0, merged = 0;
};

class Bpe {
 public:
  /// byte_ids[b] is the token of the single byte b. The merges are in the order in which they were learned.
  /// If a pair is listed twice, the later one counts, as in Hugging Face's tokenizers.
  Bpe(const std::array<int32_t, 256>& byte_ids, const std::vector<Merge>& merges);

  /// Appends the tokens of one piece. Can be called from any thread. Results for short pieces are cached,
  /// because most of a text consists of the same few words.
  void encode(std::string_view piece, std::vector<int32_t>& ids) const;

 private:
  struct Rule {
    uint32_t rank;
    int32_t merged;
  };
  const Rule* rule(int32_t left, int32_t right) const;
  std::vector<int32_t> merge(std::string_view piece) const;

  std::array<int32_t, 256> byte_ids_;
  std::unordered_map<uint64_t, Rule> rules_;  // by left << 32 | right
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, std::vector<int32_t>> cache_;
};

}  // namespace shardlens
