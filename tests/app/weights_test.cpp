// Every verb says which tensors of a model's folder it does not read, and none takes random weights where
// there are others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/app/process.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace weights_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CliWeights : public TestFolder {
 protected:
  // A model of two layers and its weights.
  void SetUp() override {
    TestFolder::SetUp();
    const std::string golden = test_data_folder() + "/goldens/gpt2-3-heads/";
    for (const char* file : {"config.json", "model.safetensors"}) fs::copy(golden + file, path(file));
    write("text.txt", std::string(2000, 'a'));
  }
  void change_config(const std::string& from, const std::string& to) {
    std::string text = contents("config.json");
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    write("config.json", text.replace(at, from.size(), to));
  }
  // What each verb is asked for with a model.
  std::vector<std::string> requests(const std::string& model) const {
    const std::string common = " --model " + model + " --tp 1 --threads 1 ";
    return {"step --seq 8 --batch 1" + common,
            "step --layer --seq 8 --batch 1" + common,
            "verify --seq 8 --batch 1" + common,
            "verify --sweep 1 --seq 8 --batch 1" + common,
            "eval --tokenizer bytes --seq 8 --text " + path("text.txt") + common,
            "generate --tokenizer bytes --tokens 1 --prompt a" + common,
            "train --tokenizer bytes --steps 1 --seq 8 --batch 1 --data " + path("text.txt") + common};
  }
};

TEST_F(CliWeights, EveryVerbNamesWhatIsNotRead) {
  change_config("\"n_layer\": 2", "\"n_layer\": 1");
  for (const std::string& request : requests(folder_.string())) {
    const Ended ended = run_cli(request);
    EXPECT_EQ(ended.code, 0) << request << "\n" << ended.err;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(path("model.safetensors") + ": 12 of its 28 tensors are not read"),
                                 HasSubstr("transformer.h.1.")))
        << request;
  }
}

TEST_F(CliWeights, NoVerbTakesRandomWeightsBesideOthers) {
  fs::rename(path("model.safetensors"), path("pytorch_model.bin"));
  for (const std::string& request : requests(folder_.string())) {
    const Ended ended = run_cli(request);
    EXPECT_EQ(ended.code, 2) << request;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("pytorch_model.bin"), HasSubstr("save_pretrained"))) << request;
  }
}

TEST_F(CliWeights, APresetIsTakenWholeBesideAFolderOfItsName) {
  fs::create_directories(path("gpt2-tiny"));
  for (const char* file : {"config.json", "model.safetensors"}) fs::copy(path(file), path("gpt2-tiny"));
  const Ended preset = run_program("env -C " + folder_.string() + " " + SHARDLENS_CLI_PROGRAM,
                                   "step --seq 8 --batch 1 --tp 1 --json --model gpt2-tiny");
  EXPECT_EQ(preset.code, 0) << preset.err;
  EXPECT_THAT(preset.err, HasSubstr("write ./gpt2-tiny"));
  EXPECT_EQ(
      preset.out.substr(0, preset.out.find(",")),
      run_cli("step --seq 8 --batch 1 --tp 1 --json --model gpt2-tiny").out.substr(0, preset.out.find(",")));
  const Ended text = run_program("env -C " + folder_.string() + " " + SHARDLENS_CLI_PROGRAM,
                                 "generate --tokens 1 --prompt a --tp 1 --model gpt2-tiny");
  EXPECT_EQ(text.code, 0) << "with the preset's tokenizer, too: " << text.err;
}

}  // namespace weights_test
}  // namespace shardlens
