// Weights files in the forms that other programs write give the model that they hold.
#include "engine/runtime/stored_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/train/small_training.h"

namespace shardlens {
namespace stored_weights_test {

using ::testing::AllOf;
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
  // The file again with every name as `rename` gives it; an empty name leaves the tensor out. `more` are
  // copies of its tensors under further names, and `added` makes them differ. (A number added to all would
  // not: a softmax does not see it.)
  std::string renamed(const std::function<std::string(std::string)>& rename,
                      const std::map<std::string, std::string>& more = {}, float added = 0) {
    const SafetensorsFile file(path("run/model.safetensors"));
    std::vector<std::vector<float>> values;
    std::vector<TensorToStore> stored;
    values.reserve(file.tensors().size() + more.size());
    for (const StoredTensor& tensor : file.tensors()) {
      const std::string name = rename(tensor.name);
      if (name.empty()) continue;
      values.emplace_back(static_cast<size_t>(element_count(tensor.shape)));
      file.read(tensor, DType::Fp32, values.back().data());
      stored.push_back({name, DType::Fp32, tensor.shape, values.back().data(), {}});
    }
    for (const auto& [name, of] : more) {
      const StoredTensor& tensor = *file.find(of);
      values.emplace_back(static_cast<size_t>(element_count(tensor.shape)));
      file.read(tensor, DType::Fp32, values.back().data());
      for (size_t i = 0; i < values.back().size(); ++i) values.back()[i] += added * static_cast<float>(i % 3);
      stored.push_back({name, DType::Fp32, tensor.shape, values.back().data(), {}});
    }
    std::filesystem::remove(path("other.safetensors"));  // an output replaces no input
    write_safetensors(path("other.safetensors"), stored);
    return path("other.safetensors");
  }
  std::vector<std::string> remarks_on(const std::string& weights) {
    Settings settings = small_bert(1);
    settings.weights_path = weights;
    return fit_to_weights(settings);
  }
  double loss_with(const std::string& weights, int tp = 1) {
    TrainOptions options = small_training(small_bert(tp), 1);
    options.settings.weights_path = weights;
    fit_to_weights(options.settings);
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
  EXPECT_THAT(remarks_on(path("run/model.safetensors")), IsEmpty());
  std::string other = renamed([](const std::string& name) {
    const bool head = name.rfind("cls.", 0) == 0 || name.rfind("bert.pooler", 0) == 0;
    return head ? "" : name;
  });
  EXPECT_THAT(remarks_on(other), ElementsAre(HasSubstr("no pooler, no masked-word head, no sentence head")));
  EXPECT_GT(loss_with(other), 0);
  other =
      renamed([](const std::string& name) { return name.starts_with("cls.seq_relationship") ? "" : name; });
  EXPECT_THAT(remarks_on(other), ElementsAre(HasSubstr("has no sentence head")));
}

const auto kAsTheyAre = [](const std::string& name) { return name; };
const std::string kWords = "bert.embeddings.word_embeddings.weight";
const std::string kDecoder = "cls.predictions.decoder.weight";

TEST_F(StoredWeightsTest, TensorsThatNobodyReadsAreNamed) {
  std::map<std::string, std::string> more{{"classifier.weight", "cls.seq_relationship.weight"}};
  EXPECT_THAT(remarks_on(renamed(kAsTheyAre, more)),
              ElementsAre(AllOf(HasSubstr("1 of its "), HasSubstr("tensors is not read"),
                                HasSubstr(": classifier.weight"))));
  // A config.json of fewer layers than the file has, and a model of another size of the same name.
  for (const char* name : {"a", "b", "c", "d", "e"})
    more[std::string("bert.encoder.layer.7.") + name] = "cls.predictions.bias";
  EXPECT_THAT(remarks_on(renamed(kAsTheyAre, more)),
              ElementsAre(AllOf(HasSubstr("6 of its "), HasSubstr("tensors are not read"),
                                HasSubstr("bert.encoder.layer.7.a, "), HasSubstr("7.d and 2 more"))));
}

TEST_F(StoredWeightsTest, BuffersAndTiedCopiesAreNoRemark) {
  EXPECT_THAT(remarks_on(renamed(kAsTheyAre, {{"bert.embeddings.position_ids", "cls.predictions.bias"},
                                              {kDecoder, kWords},
                                              {"cls.predictions.decoder.bias", "cls.predictions.bias"}})),
              IsEmpty());
}

TEST_F(StoredWeightsTest, AHeadThatDiffersFromTheEmbeddingIsUsedAndSaid) {
  const double expected = loss_with(path("run/model.safetensors"));
  EXPECT_EQ(loss_with(renamed(kAsTheyAre, {{kDecoder, kWords}})), expected);
  const std::string other = renamed(kAsTheyAre, {{kDecoder, kWords}}, 0.25f);
  EXPECT_THAT(remarks_on(other), ElementsAre(AllOf(HasSubstr(kDecoder + " differs from " + kWords),
                                                   HasSubstr("as in transformers"))));
  EXPECT_NE(loss_with(other), expected);
  Settings settings = small_bert(1);
  settings.weights_path = other;
  fit_to_weights(settings);
  EXPECT_FALSE(settings.model.tied);
  // Settings that were not fitted to the file would compute another model.
  TrainOptions options = small_training(small_bert(1), 1);
  options.settings.weights_path = other;
  EXPECT_THAT(error_of([&] { small_trainer(options); }), AllOf(HasSubstr(other), HasSubstr("differs")));
}

// Of two tied tensors the program that saved them may have kept either.
TEST_F(StoredWeightsTest, ATiedHeadMayStandForTheEmbedding) {
  const auto only_head = [](const std::string& name) { return name == kWords ? kDecoder : name; };
  EXPECT_EQ(loss_with(renamed(only_head), 2), loss_with(path("run/model.safetensors"), 2));
  EXPECT_THAT(remarks_on(renamed(only_head)), IsEmpty());
}

// transformers adds the decoder's bias. If the other one differs, nobody reads it.
TEST_F(StoredWeightsTest, OfTwoBiasesTheDecodersIsAdded) {
  const std::string both = renamed(
      [](const std::string& name) { return with(name, "predictions.bias", "predictions.decoder.bias"); },
      {{"cls.predictions.bias", "cls.predictions.bias"}}, 0.5f);
  EXPECT_EQ(loss_with(both), loss_with(path("run/model.safetensors")));
  EXPECT_THAT(remarks_on(both), ElementsAre(HasSubstr("not read, because the model has no place for it: "
                                                      "cls.predictions.bias")));
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
