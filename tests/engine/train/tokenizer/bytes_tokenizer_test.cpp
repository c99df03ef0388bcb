// Every byte is a token.
#include "engine/train/tokenizer/bytes_tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/base/error.h"
#include "engine/train/tokenizer/byte_alphabet.h"

namespace shardlens {
namespace bytes_tokenizer_test {

TEST(BytesTokenizer, IdsAreTheBytes) {
  const BytesTokenizer tokenizer;
  std::string every_byte(256, '\0');
  std::iota(every_byte.begin(), every_byte.end(), '\0');
  const std::vector<int32_t> ids = tokenizer.encode(every_byte);
  ASSERT_EQ(ids.size(), 256u);
  for (int32_t i = 0; i < 256; ++i) EXPECT_EQ(ids[static_cast<size_t>(i)], i);
  EXPECT_EQ(tokenizer.decode(ids), every_byte);
  EXPECT_EQ(tokenizer.vocab_size(), 257);
  EXPECT_EQ(tokenizer.end_of_text(), 256);
  EXPECT_EQ(tokenizer.piece(256), "");
}

// By the word "bytes" a text is its bytes, whatever it holds. By a checkpoint's tokenizer.json it is what
// transformers makes of it.
TEST(BytesTokenizer, TheEndOfTextsNameIsATokenInAFile) {
  const std::string text = "a<|endoftext|>b<|endoftext|><|endoftext|";
  const BytesTokenizer word, file(BytesTokenizer::NameInText::Token);
  const std::vector<int32_t> ids = word.encode(text);
  EXPECT_EQ(ids.size(), text.size());
  EXPECT_EQ(word.decode(ids), text);
  std::vector<int32_t> expected{'a', 256, 'b', 256};
  for (const char c : std::string("<|endoftext|")) expected.push_back(c);
  EXPECT_EQ(file.encode(text), expected);
  EXPECT_EQ(file.decode(expected), "ab<|endoftext|");
  EXPECT_EQ(file.encode(""), std::vector<int32_t>());
  EXPECT_EQ(file.fingerprint(), word.fingerprint());
}

TEST(BytesTokenizer, RefusesIdsOutsideTheVocabulary) {
  EXPECT_THROW(BytesTokenizer().piece(257), Error);
  EXPECT_THROW(BytesTokenizer().piece(-1), Error);
}

TEST(BytesTokenizer, ItsFileIsAByteLevelVocabularyInOrder) {
  const auto json = nlohmann::json::parse(BytesTokenizer().files().at("tokenizer.json"));
  const auto& vocab = json["model"]["vocab"];
  ASSERT_EQ(vocab.size(), 256u);
  for (const auto& [letter, id] : vocab.items())
    EXPECT_EQ(letters_to_bytes(letter), std::string(1, static_cast<char>(id.get<int>())));
}

TEST(ByteAlphabet, IsTheKnownOne) {
  EXPECT_EQ(byte_to_letter('A'), "A");
  EXPECT_EQ(byte_to_letter(' '), "\u0120");
  EXPECT_EQ(byte_to_letter('\n'), "\u010A");
  EXPECT_EQ(byte_to_letter(0), "\u0100");
  EXPECT_EQ(byte_to_letter(0x7F), "\u0121");
  EXPECT_EQ(byte_to_letter(0xAD), "\u0143");
  EXPECT_EQ(byte_to_letter(0xFF), "\u00FF");
  EXPECT_EQ(letters_to_bytes("\u0120caf\u00C3\u00A9"), " caf\xC3\xA9");
  EXPECT_EQ(letters_to_bytes(" "), std::nullopt);       // a space is written U+0120
  EXPECT_EQ(letters_to_bytes("\u4E2D"), std::nullopt);  // no byte has this letter
}

}  // namespace bytes_tokenizer_test
}  // namespace shardlens
