// Near-duplicates found without comparing every pair (section 4.1 of the Megatron-LM paper removes documents
// whose Jaccard similarity is above 0.7). A document is the set of its shingles, five neighbouring words
// each, lower-cased and without accents and punctuation, so that CJK text, whose ideographs count as words,
// works too.
//
// MinHash (Broder 1997): the smallest value of a hash over the set agrees between two documents with a
// probability equal to their Jaccard similarity, so the share of 128 such values that agree estimates it
// (standard error 0.04 at 0.7). Locality-sensitive hashing (Indyk and Motwani 1998): documents are compared
// only if all four values of one of 32 bands agree, which happens with a probability of 0.9998 at a
// similarity of 0.7 and 0.05 at 0.2.
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

  /// True if an earlier document that was kept is estimated to have a similarity above the bound; otherwise
  /// this document is remembered as kept. About 3.5 KB a document.
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
