// Compares near-duplicates with exact Jaccard similarities.
#include "engine/train/data/near_duplicates.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace shardlens {
namespace near_duplicates_test {

using Words = std::vector<int>;

std::string text_of(const Words& words) {
  std::string text;
  for (const int word : words) text += "w" + std::to_string(word) + " ";
  return text;
}

Words random_words(std::mt19937& random, size_t count) {
  Words words(count);
  for (int& word : words) word = static_cast<int>(random() % 1000000);
  return words;
}

// Two documents of 5-word shingles with a Jaccard similarity of very nearly `jaccard`: a shared beginning,
// then each its own. With n shingles each and s shared, J = s / (2 n - s).
std::pair<std::string, std::string> pair_of(std::mt19937& random, double jaccard) {
  constexpr size_t kShingles = 1000;
  const auto shared = static_cast<size_t>(2 * kShingles * jaccard / (1 + jaccard));
  Words first = random_words(random, kShingles + 4);
  Words second = first;
  const Words other = random_words(random, kShingles + 4);
  std::copy(other.begin() + static_cast<int64_t>(shared) + 4, other.end(),
            second.begin() + static_cast<int64_t>(shared) + 4);
  return {text_of(first), text_of(second)};
}

TEST(NearDuplicates, SignaturesEstimateTheJaccardSimilarity) {
  std::mt19937 random(4);
  for (const double jaccard : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    double mean = 0;
    constexpr int kPairs = 40;
    for (int i = 0; i < kPairs; ++i) {
      const auto [a, b] = pair_of(random, jaccard);
      const auto x = NearDuplicates::signature(a), y = NearDuplicates::signature(b);
      int agree = 0;
      for (size_t k = 0; k < x.size(); ++k) agree += x[k] == y[k];
      mean += agree / (128.0 * kPairs);
    }
    // The mean of 40 estimates has a standard error of at most 0.007.
    EXPECT_NEAR(mean, jaccard, 0.025);
  }
}

TEST(NearDuplicates, DropsAboveTheBoundAndKeepsBelow) {
  std::mt19937 random(5);
  int dropped_above = 0, dropped_below = 0;
  for (int i = 0; i < 50; ++i) {
    NearDuplicates above(0.7), below(0.7);
    const auto [a, b] = pair_of(random, 0.85);
    EXPECT_FALSE(above.seen(a));
    dropped_above += above.seen(b);
    const auto [c, d] = pair_of(random, 0.55);
    EXPECT_FALSE(below.seen(c));
    dropped_below += below.seen(d);
  }
  EXPECT_EQ(dropped_above, 50);
  EXPECT_EQ(dropped_below, 0);
}

TEST(NearDuplicates, AFarDuplicateAmongManyIsFound) {
  std::mt19937 random(6);
  NearDuplicates duplicates(0.7);
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) {
    texts.push_back(text_of(random_words(random, 200)));
    EXPECT_FALSE(duplicates.seen(texts.back()));
  }
  for (const std::string& text : texts) EXPECT_TRUE(duplicates.seen(text + "and a few words more"));
}

TEST(NearDuplicates, CaseAccentsPunctuationAndSpacingDoNotTellDocumentsApart) {
  NearDuplicates duplicates(0.7);
  EXPECT_FALSE(duplicates.seen("In the beginning God created the heaven and the earth."));
  EXPECT_TRUE(duplicates.seen("in  the Beginning; GOD créated\nthe heaven, and the earth!"));
  EXPECT_FALSE(duplicates.seen("And the earth was without form, and void; and darkness was upon the face."));
}

TEST(NearDuplicates, TextsOfIdeographsAndWithoutWordsWorkToo) {
  NearDuplicates duplicates(0.7);
  EXPECT_FALSE(duplicates.seen("起初神创造天地地是空虚混沌渊面黑暗"));
  EXPECT_TRUE(duplicates.seen("起初神创造天地，地是空虚混沌，渊面黑暗。"));
  EXPECT_FALSE(duplicates.seen("神说要有光就有了光神看光是好的"));
  EXPECT_FALSE(duplicates.seen("!!! ???"));
  EXPECT_TRUE(duplicates.seen("!!! ???"));
  EXPECT_FALSE(duplicates.seen("--- ..."));
}

}  // namespace near_duplicates_test
}  // namespace shardlens
