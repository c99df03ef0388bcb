// GPT-2's tokenizer: cases that the recorded references do not cover because their text is always valid, and
// the requirements on a vocabulary.
#include "engine/train/tokenizer/gpt2_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/train/tokenizer/byte_alphabet.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "engine/train/tokenizer/gpt2_split.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace gpt2_tokenizer_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string gpt2_folder() {
  return test_data_folder() + "/tokenizers/gpt2";
}

std::string random_bytes(std::mt19937& random, size_t length) {
  std::string bytes(length, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// The 256 bytes, the end of text and three merges: "ab", "abc", and "bc", which "abc" leaves no room for.
nlohmann::json small_tokenizer() {
  auto json = nlohmann::json::parse(BytesTokenizer().files().at("tokenizer.json"));
  auto& model = json["model"];
  model["vocab"]["<|endoftext|>"] = 256;
  model["vocab"]["ab"] = 257;
  model["vocab"]["abc"] = 258;
  model["vocab"]["bc"] = 259;
  model["merges"] = {"a b", "ab c", "b c"};
  return json;
}

std::shared_ptr<const Gpt2Tokenizer> from(const nlohmann::json& json) {
  ObjectReader tokenizer(json, "x/tokenizer.json");
  return Gpt2Tokenizer::from_tokenizer_json(json.dump(), tokenizer);
}

TEST(Gpt2Split, PiecesJoinToTheTextWhateverItsBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_bytes(random, random() % 40);
    std::string joined;
    for (const std::string_view piece : gpt2_split(text)) {
      EXPECT_FALSE(piece.empty());
      joined += piece;
    }
    EXPECT_EQ(joined, text);
  }
}

TEST(Gpt2Split, CutsAsTheRegularExpressionDoes) {
  EXPECT_THAT(gpt2_split("it's  a\n\n test"), ElementsAre("it", "'s", " ", " a", "\n\n", " test"));
  EXPECT_THAT(gpt2_split("IT'S 12ab "), ElementsAre("IT", "'", "S", " 12", "ab", " "));
  EXPECT_THAT(gpt2_split("\u3000x\u00a0 y"), ElementsAre("\u3000", "x", "\u00a0", " y"));
}

TEST(Gpt2Split, InvalidUtf8IsPunctuation) {
  EXPECT_THAT(gpt2_split("a\xFF\xFE b"), ElementsAre("a", "\xFF\xFE", " b"));
  EXPECT_THAT(gpt2_split("\xE4\xB8 x"), ElementsAre("\xE4\xB8", " x"));              // a character cut short
  EXPECT_THAT(gpt2_split("a\xED\xA0\x80z"), ElementsAre("a", "\xED\xA0\x80", "z"));  // a surrogate
}

TEST(Gpt2Tokenizer, AnyBytesSurvive) {
  const auto tokenizer = load_tokenizer(gpt2_folder());
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_bytes(random, random() % 100);
    const std::vector<int32_t> ids = tokenizer->encode(text);
    EXPECT_EQ(tokenizer->decode(ids), text);
    std::string streamed;
    for (const int32_t id : ids) streamed += tokenizer->piece(id);
    EXPECT_EQ(streamed, text);
  }
}

TEST(Gpt2Tokenizer, MergesTheEarliestLearnedPairFirst) {
  const auto tokenizer = from(small_tokenizer());
  EXPECT_THAT(tokenizer->encode("abc"), ElementsAre(258));
  EXPECT_THAT(tokenizer->encode("bcabcbb"), ElementsAre(259, 258, 'b', 'b'));
  EXPECT_THAT(tokenizer->encode("aab"), ElementsAre('a', 257));
}

TEST(Gpt2Tokenizer, SpecialTokensAreFoundInTheTextAndAddNothingToIt) {
  const auto tokenizer = from(small_tokenizer());
  EXPECT_THAT(tokenizer->encode("ab<|endoftext|>ab"), ElementsAre(257, 256, 257));
  EXPECT_EQ(tokenizer->end_of_text(), 256);
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{257, 256, 'x'}), "abx");
}

// Merging by repeated search would take time quadratic in the length of the word: minutes here.
TEST(Gpt2Tokenizer, AWordOfAMillionLettersIsNoTrouble) {
  const auto tokenizer = load_tokenizer(gpt2_folder());
  std::string word;
  while (word.size() < 1'000'000) word += "antidisestablishmentarianism";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(word)), word);
}

TEST(Gpt2Tokenizer, TheSameVocabularyInBothFormsIsOneTokenizer) {
  const auto json = load_tokenizer(gpt2_folder() + "/tokenizer.json");
  const auto pair = load_tokenizer(gpt2_folder() + "/vocab.json");
  EXPECT_EQ(json->fingerprint(), pair->fingerprint());
  EXPECT_EQ(json->vocab_size(), 768);
  auto changed = small_tokenizer();
  const uint64_t before = from(changed)->fingerprint();
  std::swap(changed["model"]["merges"][0], changed["model"]["merges"][2]);
  EXPECT_NE(from(changed)->fingerprint(), before);
}

TEST(Gpt2Tokenizer, RefusesWhatItWouldReadWrongly) {
  const auto refused = [](const auto& change) {
    auto json = small_tokenizer();
    change(json);
    return error_of([&] { from(json); });
  };
  EXPECT_THAT(refused([](auto& t) { t["normalizer"] = {{"type", "NFC"}}; }), HasSubstr("a normalizer"));
  EXPECT_THAT(refused([](auto& t) {
                t["pre_tokenizer"] = {{"type", "Split"}};
              }),
              HasSubstr("pre-tokenizer Split"));
  EXPECT_THAT(refused([](auto& t) { t["model"]["byte_fallback"] = true; }), HasSubstr("byte_fallback"));
  EXPECT_THAT(refused([](auto& t) { t["model"]["vocab"].erase(byte_to_letter('\n')); }),
              HasSubstr("byte 0x0a"));
  EXPECT_THAT(refused([](auto& t) { t["model"]["merges"] = {"a z", "az b"}; }), HasSubstr("the token az"));
  EXPECT_THAT(refused([](auto& t) { t["model"]["merges"] = {"abc"}; }), HasSubstr("two tokens with a space"));
  EXPECT_THAT(refused([](auto& t) { t["model"]["vocab"]["ab"] = -1; }),
              HasSubstr("the token ab has the id -1"));
  EXPECT_THAT(refused([](auto& t) { t["model"]["vocab"]["ab"] = 258; }), HasSubstr("both have the id 258"));
  EXPECT_THAT(refused([](auto& t) { t["model"]["vocab"]["a b"] = 300; }), HasSubstr("byte-level alphabet"));
  EXPECT_THAT(refused([](auto& t) { t["added_tokens"][0]["lstrip"] = true; }), HasSubstr("lstrip"));
}

}  // namespace gpt2_tokenizer_test
}  // namespace shardlens
