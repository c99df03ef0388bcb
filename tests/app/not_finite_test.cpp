// A model with sound weights that overflows in fp16: every verb ends with 3 and names tensor and step, as
// verify does, and none prints a number that is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "engine/io/safetensors.h"
#include "tests/app/process.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace cli_not_finite_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CliNotFinite : public TestFolder {
 protected:
  void SetUp() override {
    TestFolder::SetUp();
    const std::string golden = test_data_folder() + "/goldens/gpt2-3-heads/";
    fs::copy(golden + "config.json", path("config.json"));
    const SafetensorsFile file(golden + "model.safetensors");
    std::vector<std::vector<float>> values;
    std::vector<TensorToStore> scaled;
    for (const StoredTensor& tensor : file.tensors()) {
      values.emplace_back(static_cast<size_t>(element_count(tensor.shape)));
      file.read(tensor, DType::Fp32, values.back().data());
      if (tensor.name.find("h.1.mlp") != std::string::npos && tensor.name.ends_with("weight"))
        for (float& value : values.back()) value *= 1e4f;
      scaled.push_back({tensor.name, DType::Fp32, tensor.shape, values.back().data()});
    }
    write_safetensors(path("model.safetensors"), scaled);
    write("text.txt", std::string(400, 'a') + " b c d" + std::string(400, 'e'));
    write("cloze.jsonl", "{\"text\": \"a b c d\"}\n");
  }
};

TEST_F(CliNotFinite, EveryVerbNamesTensorAndStep) {
  const std::string common = " --model " + folder_.string() + " --tp 3 --threads 1 --dtype ";
  for (const std::string& request : {"verify --seq 8 --batch 1" + common, "step --seq 8 --batch 1" + common,
                                     "step --json --seq 8 --batch 1 --updates 2 --lr 1e-9" + common,
                                     "eval --tokenizer bytes --seq 8 --text " + path("text.txt") + common,
                                     "eval --tokenizer bytes --seq 8 --cloze " + path("cloze.jsonl") + common,
                                     "generate --tokenizer bytes --tokens 3 --prompt a" + common,
                                     "train --tokenizer bytes --steps 2 --lr 1e-9 --seq 8 --batch 2 --data " +
                                         path("text.txt") + common}) {
    const Ended ended = run_cli(request + "fp16");
    EXPECT_EQ(ended.code, 3) << request << "\n" << ended.out << ended.err;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("tensor h.1.mlp."), HasSubstr("step "))) << request;
    EXPECT_THAT(ended.out, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf")), Not(HasSubstr("accuracy"))))
        << request;
    EXPECT_EQ(run_cli(request + "fp32").code, 0) << request;
  }
}

}  // namespace cli_not_finite_test
}  // namespace shardlens
