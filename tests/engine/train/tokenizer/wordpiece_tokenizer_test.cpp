// WordPiece beyond the recorded references: words and their continuations, BERT's special tokens, bad
// vocabularies.
#include "engine/train/tokenizer/wordpiece_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace wordpiece_tokenizer_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nun##\na\n,\n\u4e2d\ncafe\nCaf\u00e9\n";

std::shared_ptr<const WordPieceTokenizer> uncased() {
  return WordPieceTokenizer::from_vocab_txt(kVocabulary, "", "x");
}

TEST(BertWords, CleansLowersStripsAndCuts) {
  EXPECT_THAT(bert_words("Caf\u00e9,\u4e2d\u6587 A\u0301\tb\u200bc", {}),
              ElementsAre("cafe", ",", "\u4e2d", "\u6587", "a", "bc"));
  EXPECT_THAT(bert_words("Caf\u00e9", {.lower_case = false, .strip_accents = false}),
              ElementsAre("Caf\u00e9"));
  EXPECT_THAT(bert_words("a\xFF"
                         "b",
                         {}),
              ElementsAre("ab"));  // no UTF-8: as U+FFFD, which is cleaned away
  EXPECT_THAT(bert_words(" \n\t ", {}), ElementsAre());
}

TEST(WordPieceTokenizer, TakesTheLongestPieceFromTheLeft) {
  const auto tokenizer = uncased();
  EXPECT_THAT(tokenizer->encode("unaffable"), ElementsAre(5, 6, 7));
  EXPECT_THAT(tokenizer->encode("unaffableness a"), ElementsAre(1, 9));
  EXPECT_THAT(tokenizer->encode("CAF\u00c9,\u4e2d"), ElementsAre(12, 10, 11));
  EXPECT_THAT(tokenizer->encode("a[MASK]a"), ElementsAre(9, 4, 9));
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{2, 5, 6, 7, 10, 9, 3}), "unaffable , a");
  EXPECT_EQ(tokenizer->piece(5), " un");
  EXPECT_EQ(tokenizer->piece(6), "aff");
}

TEST(WordPieceTokenizer, KnowsBertsOwnTokens) {
  const auto tokenizer = uncased();
  EXPECT_EQ(tokenizer->special("[PAD]"), 0);
  EXPECT_EQ(tokenizer->special("[CLS]"), 2);
  EXPECT_EQ(tokenizer->special("[SEP]"), 3);
  EXPECT_EQ(tokenizer->special("[MASK]"), 4);
  EXPECT_EQ(tokenizer->special("un"), std::nullopt);
  EXPECT_EQ(tokenizer->piece(4), "");
  EXPECT_EQ(tokenizer->end_of_text(), std::nullopt);
}

TEST(WordPieceTokenizer, TheConfigDecidesAboutCase) {
  const auto cased = WordPieceTokenizer::from_vocab_txt(kVocabulary, R"({"do_lower_case": false})", "x");
  EXPECT_THAT(cased->encode("Caf\u00e9 cafe A"), ElementsAre(13, 12, 1));
  EXPECT_NE(cased->fingerprint(), uncased()->fingerprint());
}

// A search for each piece by all its possible ends would take minutes.
TEST(WordPieceTokenizer, AWordOfAMillionLettersIsNoTrouble) {
  const nlohmann::json json = {
      {"normalizer", {{"type", "BertNormalizer"}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"model",
       {{"type", "WordPiece"},
        {"max_input_chars_per_word", 1'000'000'000},
        {"vocab", {{"[UNK]", 0}, {"a", 1}, {"##a", 2}, {"##" + std::string(100, 'a') + "b", 3}}}}}};
  ObjectReader reader(json, "x/tokenizer.json");
  const auto tokenizer = WordPieceTokenizer::from_tokenizer_json(json.dump(), reader);
  const std::vector<int32_t> ids = tokenizer->encode(std::string(1'000'000, 'a') + "b");
  EXPECT_EQ(ids.size(), 1'000'000u - 100 + 1);
  EXPECT_EQ(ids.back(), 3);
  EXPECT_THAT(tokenizer->encode(std::string(1'000'000, 'a') + "c"), ElementsAre(0));
}

TEST(WordPieceTokenizer, AVocabularyWithoutTheUnknownWordIsRefused) {
  EXPECT_THAT(error_of([] { WordPieceTokenizer::from_vocab_txt("a\nb\n[CLS]\n", "", "some/folder"); }),
              AllOf(HasSubstr("some/folder/vocab.txt"), HasSubstr("[UNK]")));
}

}  // namespace wordpiece_tokenizer_test
}  // namespace shardlens
