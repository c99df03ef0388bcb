// Compares every tokenizer with what the reference implementations made of difficult strings: emoji of
// several characters, combining accents, scripts without spaces, all kinds of white space, contractions, NUL,
// very long words. tests/peers/make_tokenizers.py recorded them in tests/data/tokenizers and can record many
// more for a real vocabulary. If SHARDLENS_TOKENIZER_GOLDENS names a folder of such folders, the test reads
// those too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/train/tokenizer/gpt2_tokenizer.h"
#include "engine/train/tokenizer/tokenizer.h"
#include "tests/data_folder.h"

namespace shardlens {
namespace tokenizer_golden_test {

namespace fs = std::filesystem;

std::vector<std::string> golden_folders() {
  std::vector<std::string> folders;
  std::vector<fs::path> roots = {fs::path(test_data_folder()) / "tokenizers"};
  if (const char* more = std::getenv("SHARDLENS_TOKENIZER_GOLDENS")) roots.emplace_back(more);
  for (const fs::path& root : roots) {
    for (const auto& entry : fs::directory_iterator(root)) {
      if (fs::exists(entry.path() / "golden.json")) folders.push_back(entry.path().string());
    }
  }
  return folders;
}

class TokenizerGolden : public ::testing::TestWithParam<std::string> {
 protected:
  nlohmann::json golden() const {
    std::ifstream file(fs::path(GetParam()) / "golden.json");
    return nlohmann::json::parse(file);
  }
};

TEST_P(TokenizerGolden, EncodesAndDecodesAsTheReference) {
  // A vocabulary that is stored in two forms is read from both.
  std::vector<std::string> forms = {GetParam()};
  for (const char* other : {"vocab.json", "vocab.txt"}) {
    if (fs::exists(fs::path(GetParam()) / other)) forms.push_back((fs::path(GetParam()) / other).string());
  }
  const nlohmann::json recorded = golden();
  ASSERT_GT(recorded["cases"].size(), 150u);
  for (const std::string& form : forms) {
    const auto tokenizer = load_tokenizer(form);
    int wrong = 0;
    for (const auto& one : recorded["cases"]) {
      const auto text = one["text"].get<std::string>();
      const auto expected = one["ids"].get<std::vector<int32_t>>();
      const std::vector<int32_t> ids = tokenizer->encode(text);
      const std::string decoded = tokenizer->decode(expected);
      if (ids == expected && decoded == one["decoded"].get<std::string>()) continue;
      if (++wrong > 10) break;
      EXPECT_EQ(ids, expected) << form << ": " << one["text"];
      EXPECT_EQ(decoded, one["decoded"].get<std::string>()) << form << ": " << one["text"];
    }
    EXPECT_EQ(wrong, 0) << form;
  }
}

TEST_P(TokenizerGolden, ItsFilesGiveTheSameTokenizerBack) {
  const fs::path folder =
      fs::path(::testing::TempDir()) /
      ("again_" + fs::path(GetParam()).filename().string() + "_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const auto tokenizer = load_tokenizer(GetParam());
  for (const auto& [name, text] : tokenizer->files()) std::ofstream(folder / name, std::ios::binary) << text;
  const auto again = load_tokenizer(folder.string());
  EXPECT_EQ(again->name(), tokenizer->name());
  EXPECT_EQ(again->fingerprint(), tokenizer->fingerprint());
  EXPECT_EQ(again->vocab_size(), tokenizer->vocab_size());
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Recorded, TokenizerGolden, ::testing::ValuesIn(golden_folders()),
                         [](const auto& folder) {
                           std::string name = fs::path(folder.param).filename().string();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + std::to_string(folder.index);
                         });

}  // namespace tokenizer_golden_test
}  // namespace shardlens
