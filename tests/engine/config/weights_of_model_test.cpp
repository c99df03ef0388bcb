// A folder's weights are found in every form that is read, and never replaced by random ones if they are in
// another form.
#include "engine/config/weights_of_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace weights_of_model_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

class WeightsOfModel : public TestFolder {
 protected:
  void SetUp() override {
    TestFolder::SetUp();
    write("config.json", "{}");
    write("tokenizer.json", "{}");
  }
  std::string found() const { return weights_of_model(folder_.string()); }
};

TEST_F(WeightsOfModel, OneFileOrAnIndex) {
  EXPECT_EQ(found(), "") << "seeded";
  EXPECT_EQ(weights_of_model("gpt2"), "");
  write("model.safetensors.index.json", "{}");
  write("model-00001-of-00002.safetensors", "");
  EXPECT_EQ(found(), path("model.safetensors.index.json"));
  write("model.safetensors", "");
  EXPECT_EQ(found(), path("model.safetensors")) << "as transformers chooses";
}

// The missing file is then named when it is opened.
TEST_F(WeightsOfModel, OfACheckpointThatLostThem) {
  write("training.json", "{}");
  EXPECT_EQ(found(), path("model.safetensors"));
  std::filesystem::remove(path("training.json"));
  std::filesystem::create_symlink("blobs/gone", path("model.safetensors"));
  EXPECT_EQ(found(), path("model.safetensors")) << "as a cache that was emptied";
}

TEST_F(WeightsOfModel, InAnotherFormAreRefusedWithHowToConvertThem) {
  for (const char* name :
       {"pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json",
        "tf_model.h5", "flax_model.msgpack", "model-q4.gguf", "MODEL.GGUF", "bert_model.ckpt.index",
        "consolidated.00.pth", "model.onnx", "rust_model.ot"}) {
    write(name, "");
    EXPECT_THAT(error_of([&] { found(); }), AllOf(HasSubstr(path(name)), HasSubstr("model.safetensors with"),
                                                  HasSubstr("save_pretrained")))
        << name;
    std::filesystem::remove(path(name));
  }
  EXPECT_EQ(found(), "");
}

TEST_F(WeightsOfModel, ShardsWithoutAnIndexAndOtherNamesSayWhatToDo) {
  write("model-00002-of-00002.safetensors", "");
  EXPECT_THAT(error_of([&] { found(); }), AllOf(HasSubstr(path("model-00002-of-00002.safetensors")),
                                                HasSubstr("model.safetensors.index.json, is missing")));
  std::filesystem::remove(path("model-00002-of-00002.safetensors"));
  write("model.fp16.safetensors", "");
  EXPECT_THAT(error_of([&] { found(); }), HasSubstr("--weights " + path("model.fp16.safetensors")));
}

}  // namespace weights_of_model_test
}  // namespace shardlens
