// Runs `shardlens-cli data` as a user does.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/app/process.h"

namespace shardlens {
namespace data_test {

class CliData : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "cli_data_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Ended data(const std::string& arguments) { return run_cli("data " + arguments); }
  std::string folder_;
};

TEST_F(CliData, PreparesTheSampleAndSaysSoInJson) {
  const Ended ended = data("--json --text sample --out " + folder_ + "/corpus");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["documents_read"], 1189);
  EXPECT_EQ(json["tokenizer"], "bytes");
  EXPECT_NEAR(json["unigram_entropy_nats"].get<double>(), 3.02, 0.01);
  EXPECT_EQ(json["train"]["documents"].get<int>() + json["validation"]["documents"].get<int>() +
                json["test"]["documents"].get<int>(),
            1189);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/corpus/corpus.json"));
  // What it wrote names its own tokenizer.
  const Ended shown = data("--json --tokenizer " + folder_ + "/corpus --show Az");
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(nlohmann::json::parse(shown.out)["ids"], nlohmann::json({65, 122}));
}

TEST_F(CliData, HelpTeachesWithExamples) {
  const Ended ended = data("--help");
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.out.find("Examples"), std::string::npos);
}

TEST_F(CliData, WrongRequestsEndWithTwoAndTheRemedy) {
  std::ofstream(folder_ + "/short.txt") << "a few words\n";
  const std::pair<std::string, std::string> cases[] = {
      {"--text sample", "--out"},
      {"--out " + folder_ + "/c", "--text"},
      {"--text " + folder_ + "/none.txt --out " + folder_ + "/c", "none.txt"},
      {"--text " + folder_ + "/short.txt --out " + folder_ + "/c", "--min-tokens"},
      {"--text sample --tokenizer " + folder_ + " --out " + folder_ + "/c", "tokenizer.json"},
      {"--text sample --out " + folder_ + "/short.txt", "short.txt"},
      {"--text sample --min-tokens -1 --out " + folder_ + "/c",
       "--min-tokens: -1 is not possible; give 0 or more"},
  };
  for (const auto& [arguments, remedy] : cases) {
    const Ended ended = data(arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_NE(ended.err.find(remedy), std::string::npos) << arguments << "\n" << ended.err;
    EXPECT_EQ(ended.out, "") << arguments;
  }
}

}  // namespace data_test
}  // namespace shardlens
