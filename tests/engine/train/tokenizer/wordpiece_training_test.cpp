// WordPiece vocabularies learned from a text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/assets.h"
#include "engine/train/tokenizer/wordpiece_tokenizer.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace wordpiece_training_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> genesis() {
  return {std::string(asset("text/genesis.txt"))};
}

std::vector<std::string> entries(const Tokenizer& tokenizer) {
  std::vector<std::string> lines;
  const std::string vocabulary = tokenizer.files().at("vocab.txt");
  for (size_t at = 0; at < vocabulary.size();) {
    const size_t end = vocabulary.find('\n', at);
    lines.push_back(vocabulary.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST(WordPieceTraining, LearnsAVocabularyThatWritesItsText) {
  const auto tokenizer = WordPieceTokenizer::train(genesis(), 1000);
  EXPECT_EQ(tokenizer->vocab_size(), 1000);
  const std::vector<std::string> lines = entries(*tokenizer);
  EXPECT_THAT(std::vector<std::string>(lines.begin(), lines.begin() + 7),
              ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "e", "##e"));
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), lines.size()) << "no entry twice";
  const std::vector<int32_t> ids = tokenizer->encode(genesis()[0]);
  EXPECT_LT(static_cast<double>(std::count(ids.begin(), ids.end(), 1)),
            0.003 * static_cast<double>(ids.size()))
      << "only words with the rarest characters are unknown";
  // Frequent words are one piece, rare ones several.
  EXPECT_EQ(tokenizer->encode("And God said unto Abraham").size(), 5u);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("firmament")).find(' '), std::string::npos);
  EXPECT_GT(tokenizer->encode("zebrathing").size(), 3u);
}

TEST(WordPieceTraining, TheSameTextGivesTheSameAndALargerOneGoesOnWhereASmallerEnds) {
  const auto small = WordPieceTokenizer::train(genesis(), 500);
  EXPECT_EQ(WordPieceTokenizer::train(genesis(), 500)->fingerprint(), small->fingerprint());
  const std::string longer = WordPieceTokenizer::train(genesis(), 800)->files().at("vocab.txt");
  EXPECT_TRUE(longer.starts_with(small->files().at("vocab.txt")));
}

TEST(WordPieceTraining, AShortTextHasFewerPiecesThanAskedFor) {
  const auto tokenizer = WordPieceTokenizer::train({"a rose is a rose is a rose"}, 30000);
  EXPECT_LT(tokenizer->vocab_size(), 30);
  EXPECT_EQ(tokenizer->encode("a rose is").size(), 3u);
}

TEST(WordPieceTraining, TooFewEntriesAreRefusedWithTheNumberThatWouldDo) {
  EXPECT_THAT(error_of([] { WordPieceTokenizer::train(genesis(), 40); }), HasSubstr("characters alone need"));
  EXPECT_THAT(error_of([] { WordPieceTokenizer::train({""}, 400); }), HasSubstr("it has no words"));
}

// More characters than the trainer is usually asked for pieces: the message is about what was asked for.
TEST(WordPieceTraining, ALargeAlphabetIsNamedWithItsTwoEntriesForEachCharacter) {
  std::string text;
  for (int code = 0x4E00; code < 0x4E00 + 1200; ++code)  // Chinese; each character is a word
    for (int times = 0; times < 3; ++times)
      text += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
               static_cast<char>(0x80 | (code & 0x3F))};
  for (const int32_t entries : {50, 2000}) {
    const std::string said = error_of([&] { WordPieceTokenizer::train({text}, entries); });
    EXPECT_THAT(said, HasSubstr("a WordPiece vocabulary of " + std::to_string(entries) + " is too small"));
    EXPECT_THAT(said, HasSubstr("its characters alone need 2403")) << "without the rarest";
  }
  EXPECT_EQ(WordPieceTokenizer::train({text}, 2403)->vocab_size(), 2403);
}

}  // namespace wordpiece_training_test
}  // namespace shardlens
