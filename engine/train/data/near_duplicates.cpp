// Finds near-duplicates without comparing every pair.
#include "engine/train/data/near_duplicates.h"

#include <algorithm>
#include <deque>
#include <string>

#include "engine/device/philox.h"
#include "engine/io/hash.h"
#include "engine/train/tokenizer/bert_words.h"

namespace shardlens {
namespace {

constexpr size_t kShingleWords = 5;

// Odd multipliers: the upper half of h * a orders the shingles in 128 ways (multiply-shift hashing).
const std::array<uint64_t, NearDuplicates::kHashes>& multipliers() {
  static const auto all = [] {
    std::array<uint64_t, NearDuplicates::kHashes> values{};
    for (uint32_t i = 0; i < values.size(); ++i) {
      const auto words = philox4x32_10({i, 0, 0, 0}, {0x4D696E48, 0x61736821});
      values[i] = words[0] | static_cast<uint64_t>(words[1]) << 32 | 1;
    }
    return values;
  }();
  return all;
}

std::vector<uint64_t> shingles(std::string_view text) {
  std::vector<uint64_t> words;
  for (const std::string& word : bert_words(text, {})) {
    if (!is_punctuation(word)) words.push_back(hash64(word.data(), word.size()));
  }
  if (words.empty()) return {hash64(text.data(), text.size())};  // no words: equal only to itself
  const size_t width = std::min(kShingleWords, words.size());
  std::vector<uint64_t> all;
  for (size_t first = 0; first + width <= words.size(); ++first)
    all.push_back(hash64(words.data() + first, width * sizeof(uint64_t)));
  return all;
}

}  // namespace

NearDuplicates::Signature NearDuplicates::signature(std::string_view text) {
  Signature smallest;
  smallest.fill(UINT32_MAX);
  const auto& factors = multipliers();
  for (const uint64_t shingle : shingles(text)) {
    for (size_t i = 0; i < smallest.size(); ++i) {
      smallest[i] = std::min(smallest[i], static_cast<uint32_t>((shingle * factors[i]) >> 32));
    }
  }
  return smallest;
}

bool NearDuplicates::seen(std::string_view text) {
  const Signature mine = signature(text);
  std::array<uint64_t, kBands> keys{};
  for (size_t band = 0; band < kBands; ++band) {
    keys[band] = hash64(mine.data() + band * kBandRows, kBandRows * sizeof(uint32_t));
    const auto bucket = bands_[band].find(keys[band]);
    if (bucket == bands_[band].end()) continue;
    for (const uint32_t other : bucket->second) {
      int agree = 0;
      for (size_t i = 0; i < mine.size(); ++i) agree += mine[i] == kept_[other][i];
      if (agree > jaccard_ * kHashes) return true;
    }
  }
  for (size_t band = 0; band < kBands; ++band)
    bands_[band][keys[band]].push_back(static_cast<uint32_t>(kept_.size()));
  kept_.push_back(mine);
  return false;
}

}  // namespace shardlens
