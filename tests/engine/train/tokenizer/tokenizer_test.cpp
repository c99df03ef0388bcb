// Which tokenizer a folder holds, and the error if it holds none.
#include "engine/train/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/io/json.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace tokenizer_test {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class LoadTokenizer : public TestFolder {
 protected:
  std::string load_error(const std::string& where) {
    return error_of([&] { load_tokenizer(where); });
  }
};

TEST_F(LoadTokenizer, FindsEachKindByItsFiles) {
  const std::string data = test_data_folder() + "/tokenizers/";
  EXPECT_EQ(load_tokenizer("bytes")->name(), "bytes");
  EXPECT_EQ(load_tokenizer(data + "gpt2")->name(), "gpt2-bpe");
  EXPECT_EQ(load_tokenizer(data + "gpt2/merges.txt")->name(), "gpt2-bpe");
  EXPECT_EQ(load_tokenizer(data + "bert-cased")->name(), "wordpiece");
  EXPECT_EQ(load_tokenizer(data + "bert-cased/vocab.txt")->fingerprint(),
            load_tokenizer(data + "bert-cased")->fingerprint());
  EXPECT_EQ(load_tokenizer(data + "sentencepiece/tokenizer.model")->name(), "sentencepiece");
  write("tokenizer.json", BytesTokenizer().files().at("tokenizer.json"));
  EXPECT_EQ(load_tokenizer(folder_.string())->name(), "bytes");
  EXPECT_THAT(load_tokenizer(folder_.string())->encode("<|endoftext|>"), ElementsAre(256));
  EXPECT_EQ(load_tokenizer("bytes")->encode("<|endoftext|>").size(), 13u);
}

// Token files and checkpoints hold a fingerprint, also those of older versions.
TEST_F(LoadTokenizer, FingerprintsAreTheSameInEveryVersion) {
  const std::string data = test_data_folder() + "/tokenizers/";
  EXPECT_EQ(load_tokenizer("bytes")->fingerprint(), 0x0cb965b569ae48e3u);
  EXPECT_EQ(load_tokenizer(data + "gpt2")->fingerprint(), 0xef93f272914fd2acu);
  EXPECT_EQ(load_tokenizer(data + "bert-cased")->fingerprint(), 0x69497cf1944fc055u);
  EXPECT_EQ(load_tokenizer(data + "sentencepiece")->fingerprint(), 0xe0bdc36da0abc501u);
}

TEST_F(LoadTokenizer, ReadsOlderFilesThatDoNotNameTheModel) {
  for (const char* kind : {"gpt2", "bert-uncased"}) {
    const std::string folder = test_data_folder() + "/tokenizers/" + kind;
    auto json = read_json_file(folder + "/tokenizer.json");
    json["model"].erase("type");
    EXPECT_EQ(load_tokenizer(write("tokenizer.json", json.dump()))->fingerprint(),
              load_tokenizer(folder)->fingerprint());
  }
}

TEST_F(LoadTokenizer, SaysWhatItLookedFor) {
  EXPECT_THAT(load_error(folder_.string()),
              AllOf(HasSubstr("has no tokenizer"), HasSubstr("tokenizer.json")));
  EXPECT_THAT(load_error(path("nowhere")), AllOf(HasSubstr("there is no tokenizer"), HasSubstr("nowhere")));
  EXPECT_THAT(load_error(write("words.txt", "a")), HasSubstr("vocab.txt"));
  EXPECT_THAT(load_error(write("vocab.json", "{}")), HasSubstr("no merges.txt"));
}

TEST_F(LoadTokenizer, ABrokenFileIsNamed) {
  for (
      const char* text :
      {"", "{", "[]", "{}", R"({"model": 3})", R"({"model": {"type": "BPE"}})",
       R"({"model": {"type": "WordPiece", "vocab": []}})",
       R"({"model": {"type": "BPE", "vocab": {}, "merges": [3]}, "pre_tokenizer": {"type": "ByteLevel"}})"}) {
    EXPECT_THAT(load_error(write("tokenizer.json", text)), HasSubstr("tokenizer.json")) << text;
  }
  EXPECT_THAT(load_error(write("tokenizer.json", R"({"model": {"type": "Unigram"}})")), HasSubstr("Unigram"));
  std::filesystem::remove(path("tokenizer.json"));
  write("merges.txt", "a b");
  EXPECT_THAT(load_error(write("vocab.json", R"({"a": "one"})")),
              AllOf(HasSubstr("vocab.json"), HasSubstr("one")));
}

// Every key that is read, with every other type in its place and without it: the error names file and key in
// our words, or the value has a meaning there.
TEST_F(LoadTokenizer, AWrongTypeOrAMissingKeyIsNamed) {
  const std::vector<nlohmann::json> values = {
      nullptr, true, -1, 1.5, UINT64_MAX, "x", nlohmann::json::array(), {{"a", 1}}, {1, 2}};
  const auto expect_named = [&](const std::string& file, const std::string& key) {
    const std::string error = load_error(folder_.string());
    if (error == "no error") return false;
    EXPECT_THAT(error, AllOf(HasSubstr(file), Not(HasSubstr("json.exception"))));
    EXPECT_THAT(error, AnyOf(HasSubstr(key), HasSubstr("is not supported"), HasSubstr("has the id")));
    return true;
  };
  const auto try_all = [&](const std::string& file, const nlohmann::json& whole, const std::string& pointer) {
    const nlohmann::json::json_pointer at(pointer);
    const bool in_list = std::isdigit(static_cast<unsigned char>(at.back()[0])) != 0;
    for (const nlohmann::json& value : values) {
      nlohmann::json changed = whole;
      changed[at] = value;
      write(file, changed.dump());
      expect_named(file, in_list ? at.parent_pointer().back() : at.back());
    }
    nlohmann::json changed = whole;
    if (in_list) return;
    changed[at.parent_pointer()].erase(at.back());
    write(file, changed.dump());
    expect_named(file, at.back());
  };
  const std::string data = test_data_folder() + "/tokenizers/";
  const nlohmann::json gpt2 = read_json_file(data + "gpt2/tokenizer.json");
  const nlohmann::json bert = read_json_file(data + "bert-uncased/tokenizer.json");
  for (const char* key :
       {"/added_tokens", "/added_tokens/0", "/added_tokens/0/id", "/added_tokens/0/content",
        "/added_tokens/0/special", "/added_tokens/0/normalized", "/added_tokens/0/lstrip", "/model",
        "/model/type", "/model/vocab", "/model/vocab/a", "/pre_tokenizer", "/pre_tokenizer/type"}) {
    try_all("tokenizer.json", gpt2, key);
    try_all("tokenizer.json", bert, key);
  }
  for (const char* key : {"/model/merges", "/model/merges/0", "/model/byte_fallback", "/model/dropout",
                          "/pre_tokenizer/add_prefix_space", "/pre_tokenizer/use_regex", "/normalizer"})
    try_all("tokenizer.json", gpt2, key);
  for (const char* key :
       {"/normalizer", "/normalizer/type", "/normalizer/clean_text", "/normalizer/handle_chinese_chars",
        "/normalizer/lowercase", "/normalizer/strip_accents", "/model/unk_token",
        "/model/continuing_subword_prefix", "/model/max_input_chars_per_word"})
    try_all("tokenizer.json", bert, key);
  std::filesystem::remove(path("tokenizer.json"));

  std::filesystem::copy(data + "bert-uncased/vocab.txt", path("vocab.txt"));
  const nlohmann::json config = {{"do_lower_case", true},
                                 {"strip_accents", nullptr},
                                 {"tokenize_chinese_chars", true},
                                 {"added_tokens_decoder", {{"0", {{"content", "[PAD]"}}}}}};
  for (const char* key :
       {"/do_lower_case", "/strip_accents", "/tokenize_chinese_chars", "/added_tokens_decoder"})
    try_all("tokenizer_config.json", config, key);
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"0": 1}})");
  EXPECT_TRUE(expect_named("tokenizer_config.json", "added_tokens_decoder"));
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"one": {"content": "x"}}})");
  EXPECT_TRUE(expect_named("tokenizer_config.json", "one"));
  std::filesystem::remove(path("tokenizer_config.json"));
  for (const char* text :
       {"[]", "3", R"({"x": "y"})", R"({"x": -1})", R"({"x": 1.5})", R"({"x": 5, "y": 5})"}) {
    write("added_tokens.json", text);
    EXPECT_TRUE(expect_named("added_tokens.json", "")) << text;
  }
}

// transformers' older forms of a folder. A text with such a token would be cut in another way.
TEST_F(LoadTokenizer, TokensAddedInAFileThatIsNotReadAreRefused) {
  const std::string data = test_data_folder() + "/tokenizers/";
  std::filesystem::copy(data + "gpt2/vocab.json", path("vocab.json"));
  std::filesystem::copy(data + "gpt2/merges.txt", path("merges.txt"));
  write("added_tokens.json", R"({"<|endoftext|>": 0})");
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"0": {"content": "<|endoftext|>"}}})");
  EXPECT_EQ(load_error(folder_.string()), "no error");
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"768": {"content": "<pad>"}}})");
  EXPECT_THAT(load_error(folder_.string()),
              AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("<pad>"), HasSubstr("save_pretrained")));
  write("added_tokens.json", R"({"<mask>": 769})");
  EXPECT_THAT(load_error(folder_.string()), AllOf(HasSubstr("added_tokens.json"), HasSubstr("<mask>")));
}

}  // namespace tokenizer_test
}  // namespace shardlens
