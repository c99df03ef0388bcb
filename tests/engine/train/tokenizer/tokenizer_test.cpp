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
using ::testing::HasSubstr;

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

}  // namespace tokenizer_test
}  // namespace shardlens
