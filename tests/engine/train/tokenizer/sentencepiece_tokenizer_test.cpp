// SentencePiece: it learns from a text, and no part of a text is lost.
#include "engine/train/tokenizer/sentencepiece_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/tokenizer/wordpiece_tokenizer.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace sentencepiece_tokenizer_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Words of three syllables, many times over.
const std::vector<std::string>& some_texts() {
  static const std::vector<std::string> texts = [] {
    const char* syllables[] = {"ba", "che", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu"};
    std::vector<std::string> all(2);
    for (int i = 0; i < 1000; ++i) {
      std::string& text = all[static_cast<size_t>(i % 2)];
      text += std::string(syllables[i % 10]) + syllables[i / 10 % 10] + syllables[i / 100] + " ";
      if (i % 12 == 11) text += "\n";
    }
    return all;
  }();
  return texts;
}

TEST(SentencePieceTokenizer, LearnsExactlyTheVocabularyAskedFor) {
  const auto tokenizer = SentencePieceTokenizer::train(some_texts(), 330);
  EXPECT_EQ(tokenizer->vocab_size(), 330);
  EXPECT_EQ(tokenizer->end_of_text(), 1);
  EXPECT_EQ(tokenizer->piece(1), "");
  EXPECT_TRUE(tokenizer->special("[MASK]"));
  EXPECT_FALSE(tokenizer->special("ba"));
  EXPECT_FALSE(tokenizer->special("nothing of the kind"));
  const std::string& text = some_texts()[0];
  EXPECT_LT(tokenizer->encode(text).size(), text.size() / 2);  // it learned something
}

TEST(SentencePieceTokenizer, TheSameTextGivesTheSameVocabulary) {
  EXPECT_EQ(SentencePieceTokenizer::train(some_texts(), 330)->fingerprint(),
            SentencePieceTokenizer::train(some_texts(), 330)->fingerprint());
}

TEST(SentencePieceTokenizer, ValidTextSurvivesByteForByte) {
  const auto tokenizer = SentencePieceTokenizer::train(some_texts(), 330);
  for (const std::string& text : {some_texts()[1], std::string("  two  spaces, a tab\tand \n\n line ends \n"),
                                  std::string("\u4e2d\U0001F600e\u0301 \uFB01"), std::string("a\0b", 3),
                                  std::string(), std::string(" ")}) {
    const std::vector<int32_t> ids = tokenizer->encode(text);
    EXPECT_EQ(tokenizer->decode(ids), text);
    std::string streamed;
    for (const int32_t id : ids) streamed += tokenizer->piece(id);
    EXPECT_EQ(streamed, text);
  }
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a\xFFz")), "a\uFFFDz");  // no UTF-8: the stated rule
}

// SentencePiece counts the letters of a word in 16 bits: such a text ended the process.
TEST(SentencePieceTokenizer, LearnsFromATextWithWordsOfAnyLength) {
  for (const int letters : {32'769, 32'770, 65'537, 200'000}) {
    std::vector<std::string> texts = some_texts();
    std::string& word = texts[0];
    for (int i = 0; i < letters / 4; ++i) word += i % 3 == 0 ? "d\u00e9a" : "beef";
    const auto tokenizer = SentencePieceTokenizer::train(texts, 330);
    EXPECT_EQ(tokenizer->vocab_size(), 330);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(word)), word);
    EXPECT_EQ(WordPieceTokenizer::train(texts, 200)->encode("cheche").size(), 2u);
  }
}

// Lines that SentencePiece would skip: of a megabyte, and with the character that it keeps for itself.
TEST(SentencePieceTokenizer, LearnsFromEveryLine) {
  std::string line;
  for (int i = 0; i < 400'000; ++i) line += i % 2 == 0 ? "zebra " : "crow ";
  for (const std::string& text : {line, std::string("\u2585 zebra crow zebra crow \u2585 zebra crow")}) {
    const auto tokenizer = SentencePieceTokenizer::train({text}, 276);
    EXPECT_LT(tokenizer->encode(" zebra zebra zebra").size(), 15u);
  }
}

TEST(SentencePieceTokenizer, AnImpossibleVocabularySaysWhatWouldDo) {
  EXPECT_THAT(error_of([] { SentencePieceTokenizer::train(some_texts(), 200); }), HasSubstr("at least 263"));
  EXPECT_THAT(error_of([] { SentencePieceTokenizer::train(some_texts(), 50000); }),
              AllOf(HasSubstr("50000 pieces"), HasSubstr("it gives 1"), HasSubstr("smaller vocabulary")));
  EXPECT_THAT(error_of([] { SentencePieceTokenizer::train({}, 300); }),
              AllOf(HasSubstr("more text"), Not(HasSubstr(".cc"))));
  std::string alphabet;
  for (int letter = 0; letter < 300; ++letter)
    for (const char byte :
         {'\xE4', static_cast<char>(0xB8 + letter / 64), static_cast<char>(0x80 + letter % 64)})
      alphabet += byte;
  EXPECT_THAT(
      error_of([&] { SentencePieceTokenizer::train({alphabet}, 300); }),
      AllOf(HasSubstr("its characters alone need"), HasSubstr("larger vocabulary"), Not(HasSubstr(".cc"))));
}

TEST(SentencePieceTokenizer, WhatIsNoModelIsRefusedByName) {
  EXPECT_THAT(error_of([] { SentencePieceTokenizer("not a model", "some.model"); }), HasSubstr("some.model"));
  EXPECT_THAT(error_of([] { SentencePieceTokenizer("", "empty.model"); }), HasSubstr("empty.model"));
}

}  // namespace sentencepiece_tokenizer_test
}  // namespace shardlens
