// Weights files in the forms that other programs write give the model that they hold.
#include "engine/runtime/stored_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/trainer.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/train/small_training.h"

namespace shardlens {
namespace stored_weights_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::small_bert;
using testing::small_trainer;
using testing::small_training;

class StoredWeightsTest : public TestFolder {
 protected:
  // A file of a model after two steps, and the loss of the next.
  void SetUp() override {
    TestFolder::SetUp();
    TrainOptions options = small_training(small_bert(1), 6);
    options.checkpoint = path("run");
    Trainer trainer = small_trainer(options);
    trainer.step();
    trainer.step();
    trainer.save();
  }
  // The file again with every name as `rename` gives it; an empty name leaves the tensor out.
  std::string renamed(const std::function<std::string(std::string)>& rename) {
    const SafetensorsFile file(path("run/model.safetensors"));
    std::vector<std::vector<float>> values;
    std::vector<TensorToStore> stored;
    values.reserve(file.tensors().size());
    for (const StoredTensor& tensor : file.tensors()) {
      const std::string name = rename(tensor.name);
      if (name.empty()) continue;
      values.emplace_back(static_cast<size_t>(element_count(tensor.shape)));
      file.read(tensor, DType::Fp32, values.back().data());
      stored.push_back({name, DType::Fp32, tensor.shape, values.back().data(), {}});
    }
    write_safetensors(path("other.safetensors"), stored);
    return path("other.safetensors");
  }
  double loss_with(const std::string& weights, int tp = 1) {
    TrainOptions options = small_training(small_bert(tp), 1);
    options.settings.weights_path = weights;
    return small_trainer(options).step().loss;
  }
};

std::string with(std::string name, const std::string& from, const std::string& to) {
  const size_t at = name.find(from);
  if (at != std::string::npos) name.replace(at, from.size(), to);
  return name;
}

TEST_F(StoredWeightsTest, OlderNamesAndOtherPrefixesAreTheSameModel) {
  const double expected = loss_with(path("run/model.safetensors"));
  EXPECT_NE(expected, loss_with(""));
  EXPECT_EQ(loss_with(renamed([](std::string name) {
              name = with(name, "LayerNorm.weight", "LayerNorm.gamma");
              return with(name, "LayerNorm.bias", "LayerNorm.beta");
            })),
            expected);
  EXPECT_EQ(loss_with(renamed([](std::string name) {
              return with(name, "cls.predictions.bias", "cls.predictions.decoder.bias");
            })),
            expected);
  EXPECT_EQ(
      loss_with(renamed([](std::string name) { return name.starts_with("bert.") ? name.substr(5) : name; })),
      expected);
}

TEST_F(StoredWeightsTest, AnEncoderWithoutHeadsStartsThemSeededAndSaysSo) {
  Settings settings = small_bert(1);
  settings.weights_path = path("run/model.safetensors");
  EXPECT_THAT(seeded_heads(settings), IsEmpty());
  settings.weights_path = renamed([](const std::string& name) {
    const bool head = name.rfind("cls.", 0) == 0 || name.rfind("bert.pooler", 0) == 0;
    return head ? "" : name;
  });
  EXPECT_THAT(seeded_heads(settings), ElementsAre("pooler", "masked-word head", "sentence head"));
  EXPECT_GT(loss_with(settings.weights_path), 0);
  settings.weights_path =
      renamed([](const std::string& name) { return name.starts_with("cls.seq_relationship") ? "" : name; });
  EXPECT_THAT(seeded_heads(settings), ElementsAre("sentence head"));
}

TEST_F(StoredWeightsTest, APartOfAHeadOrOfALayerIsMissed) {
  EXPECT_THAT(error_of([&] {
                loss_with(renamed([](const std::string& name) {
                  return name == "cls.predictions.transform.dense.bias" ? "" : name;
                }));
              }),
              HasSubstr("cls.predictions.transform.dense.bias"));
  EXPECT_THAT(error_of([&] {
                loss_with(renamed([](const std::string& name) {
                  return name == "bert.encoder.layer.1.output.LayerNorm.bias" ? "" : name;
                }));
              }),
              HasSubstr("bert.encoder.layer.1.output.LayerNorm.bias"));
}

}  // namespace stored_weights_test
}  // namespace shardlens
