// Finds near-duplicates without comparing every pair (section 4.1 of the Megatron-LM paper removes documents
// whose Jaccard similarity is above 0.7). A document is the set of its shingles. A shingle is five
// neighbouring words, lower-cased and without accents and punctuation. Ideographs count as words, so CJK text
// works too.
//
// MinHash (Broder 1997): the smallest value of a hash over the set is equal for two documents with a
// probability that is their Jaccard similarity. So the share of equal values among 128 such hashes estimates
// it (standard error 0.04 at 0.7). Locality-sensitive hashing (Indyk and Motwani 1998): documents are
// compared only if all four values of one of 32 bands are equal. That happens with a probability of 0.9998 at
// a similarity of 0.7 and 0.05 at 0.2.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardlens {

class NearDuplicates {
 public:
  explicit NearDuplicates(double jaccard) : jaccard_(jaccard) {}

  /// True if the estimated similarity to an earlier document that was kept is above the bound. Otherwise this
  /// document is remembered as kept. Takes about 3.5 KB per document.
  bool seen(std::string_view text);

  static constexpr int kHashes = 128, kBands = 32, kBandRows = kHashes / kBands;
  using Signature = std::array<uint32_t, kHashes>;
  static Signature signature(std::string_view text);

 private:
  double jaccard_;
  std::vector<Signature> kept_;
  std::array<std::unordered_map<uint64_t, std::vector<uint32_t>>, kBands>
      bands_;  // band's values -> documents
};

}  // namespace shardlens
