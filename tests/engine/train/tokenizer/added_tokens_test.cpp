// Added tokens beyond the recorded references: which of them are text, and which lists are refused.
#include "engine/train/tokenizer/added_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/tokenizer/tokenizer.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace added_tokens_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

nlohmann::json tokenizer_json(const std::string& kind) {
  return read_json_file(test_data_folder() + "/tokenizers/" + kind + "/tokenizer.json");
}

nlohmann::json token(const std::string& text, const nlohmann::json& id) {
  return {{"content", text}, {"id", id},        {"special", false},    {"normalized", false},
          {"lstrip", false}, {"rstrip", false}, {"single_word", false}};
}

class AddedTokensFile : public TestFolder {
 protected:
  std::shared_ptr<const Tokenizer> load(const nlohmann::json& json) {
    return load_tokenizer(write("tokenizer.json", json.dump()));
  }
  std::string error_with(const std::string& kind, const std::vector<nlohmann::json>& added) {
    nlohmann::json json = tokenizer_json(kind);
    for (const nlohmann::json& token : added) json["added_tokens"].push_back(token);
    return error_of([&] { load(json); });
  }
};

TEST_F(AddedTokensFile, OnlySpecialOnesAreLeftOutOfADecodedText) {
  nlohmann::json gpt2 = tokenizer_json("gpt2");
  gpt2["added_tokens"].push_back(token("na\u00efve tok", 768));
  gpt2["added_tokens"].push_back(token("<mask>", 769));
  gpt2["added_tokens"][2]["special"] = true;
  const auto tokenizer = load(gpt2);
  const std::vector<int32_t> ids = tokenizer->encode("a na\u00efve tok<mask><|endoftext|> b");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 768), 1);
  EXPECT_EQ(tokenizer->decode(ids), "a na\u00efve tok b");
  EXPECT_EQ(tokenizer->piece(768), "na\u00efve tok");
  EXPECT_EQ(tokenizer->piece(769), "");

  nlohmann::json bert = tokenizer_json("bert-uncased");
  bert["added_tokens"].push_back(token("NewTok", 1000));
  const auto words = load(bert);
  EXPECT_EQ(words->decode(words->encode("[CLS] God NewTok [SEP]")), "god NewTok");
}

// The lower-cased word is no entry of the vocabulary, although the added token is written like it.
TEST_F(AddedTokensFile, AWordIsNotMadeOfAddedTokens) {
  nlohmann::json bert = tokenizer_json("bert-uncased");
  bert["added_tokens"].push_back(token("newtok", 1000));
  const auto tokenizer = load(bert);
  EXPECT_EQ(tokenizer->encode("newtok"), std::vector<int32_t>{1000});
  EXPECT_EQ(tokenizer->encode("NEWTOK"), load(tokenizer_json("bert-uncased"))->encode("newtok"));
  bert["added_tokens"].back()["normalized"] = true;
  EXPECT_EQ(load(bert)->encode("NEWTOK"), std::vector<int32_t>{1000});
  EXPECT_NE(load(bert)->fingerprint(), tokenizer->fingerprint());
}

TEST_F(AddedTokensFile, IdsAreThoseOfHuggingFaceOrRefused) {
  for (const char* kind : {"gpt2", "bert-cased"}) {
    const int next = kind[0] == 'g' ? 768 : 1000;
    EXPECT_EQ(error_with(kind, {token("NewTok", next), token("Other", next + 1)}), "no error");
    for (const nlohmann::json& wrong :
         {nlohmann::json(1.5), nlohmann::json(true), nlohmann::json(-1), nlohmann::json(4294967595),
          nlohmann::json(2147483647), nlohmann::json(UINT64_MAX), nlohmann::json("3"), nlohmann::json()})
      EXPECT_THAT(error_with(kind, {token("NewTok", wrong)}),
                  AllOf(HasSubstr("tokenizer.json, \"added_tokens\"["),
                        HasSubstr("the token NewTok has the id"), HasSubstr("whole numbers from 0 to")));
    // A hole, the id of another token, the order of the list.
    EXPECT_THAT(error_with(kind, {token("NewTok", next + 1)}), HasSubstr("give it " + std::to_string(next)));
    EXPECT_THAT(error_with(kind, {token("NewTok", 300)}), HasSubstr("give it " + std::to_string(next)));
    EXPECT_THAT(error_with(kind, {token("NewTok", next), token("Other", next)}),
                HasSubstr("the token Other has the id"));
    EXPECT_THAT(error_with(kind, {token("NewTok", next), token("NewTok", next)}), HasSubstr("added before"));
    EXPECT_THAT(error_with(kind, {token("e", next)}), HasSubstr("its id in the vocabulary"));
    EXPECT_THAT(error_with(kind, {token(std::string(2000, 'a'), next)}), HasSubstr("2000 bytes"));
  }
}

TEST_F(AddedTokensFile, AHoleInTheVocabularyIsNoToken) {
  for (const char* kind : {"gpt2", "bert-cased"}) {
    nlohmann::json json = tokenizer_json(kind);
    json["model"]["vocab"]["zz"] = 2000;
    const auto tokenizer = load(json);
    EXPECT_EQ(tokenizer->vocab_size(), 2001);
    EXPECT_EQ(tokenizer->piece(1500), "");
    // The number that follows the vocabulary's size is taken.
    json["model"]["vocab"]["zzz"] = kind[0] == 'g' ? 770 : 1002;
    json["added_tokens"].push_back(token("NewTok", kind[0] == 'g' ? 770 : 1002));
    EXPECT_THAT(error_of([&] { load(json); }), HasSubstr("a token of the vocabulary have the id"));
    json["model"]["vocab"]["zz"] = int64_t{1} << 30;
    EXPECT_THAT(error_of([&] { load(json); }), HasSubstr("the token zz has the id 1073741824"));
  }
}

TEST(AddedTokens, TheLongestCountsAndThoseNotNormalizedComeFirst) {
  const AddedTokens::Normalize lowered = [](std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    return lower;
  };
  const AddedTokens tokens({{"ab", 1, false, false}, {"abc", 2, false, false}, {"xAB", 3, false, true}},
                           lowered, "x");
  std::string cut;
  tokens.split(
      "XABabcDxababXaB", [&](std::string_view text) { cut += "(" + std::string(text) + ")"; },
      [&](int32_t id) { cut += std::to_string(id); });
  EXPECT_EQ(cut, "32(dx)113");
}

// Each search for each token in turn would take minutes.
TEST(AddedTokens, TwentyThousandOfThemAreNoTrouble) {
  std::vector<AddedToken> tokens;
  for (int32_t i = 0; i < 20'000; ++i)
    tokens.push_back({"<" + std::to_string(i) + ">", i, false, i % 2 == 0});
  const AddedTokens added(std::move(tokens), {}, "x");
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "<" + std::to_string(i % 20'000) + ">";
  int64_t found = 0;
  added.split(
      text, [](std::string_view) {}, [&](int32_t) { ++found; });
  EXPECT_EQ(found, 100'000);
}

}  // namespace added_tokens_test
}  // namespace shardlens
