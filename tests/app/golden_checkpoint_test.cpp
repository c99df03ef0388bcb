// Checkpoints in the forms that other programs write: without the prefix, with `gamma` and `beta`, with
// copies of tied tensors, and with tensors that are not weights. All hold the same model, so `step` computes
// the same numbers.
#include <fstream>
#include <functional>

#include "tests/app/golden.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace golden_checkpoint_test {

const std::string kFp64 = "--tp 2 --dtype fp64";

using Rename = std::function<std::string(std::string)>;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

class GoldenCheckpoint : public TestFolder {
 protected:
  void store(const Tensors& weights, int64_t shard_bytes = kShardBytes) {
    std::vector<TensorToStore> tensors;
    for (const auto& [name, values] : weights)
      tensors.push_back({name, DType::Fp64, values.shape, values.numbers.data()});
    fs::remove(path("model.safetensors"));  // of the case before
    write_sharded_safetensors(path("model.safetensors"), tensors, {}, shard_bytes, {});
  }
  /// Writes the case's model under other names, with `more` beside its tensors, and expects the case's
  /// numbers at T = 2.
  void expect_read(const std::string& name, const Rename& rename, const Tensors& more = {}) {
    Tensors weights = more;
    for (auto& [stored, values] : read_tensors(folder(name) + "/model.safetensors"))
      weights[rename(stored)] = values;
    store(weights);
    fs::copy_file(folder(name) + "/config.json", path("config.json"), fs::copy_options::overwrite_existing);
    expect_close(step(name, kFp64, folder_.string()), without_losses(expected_of(name, "expected")),
                 {1e-11, 1e-11, 0}, true, name);
  }
};

TEST_F(GoldenCheckpoint, Gpt2WithoutItsPrefixWithMasksAndATiedCopy) {
  const Tensors stored = read_tensors(folder("gpt2-3-heads") + "/model.safetensors");
  Tensors more{{"lm_head.weight", stored.at("transformer.wte.weight")}};
  for (const char* layer : {"0", "1"})
    more[fmt::format("h.{}.attn.bias", layer)] = {{1, 1, 32, 32}, std::vector<double>(32 * 32, 1.0)};
  expect_read(
      "gpt2-3-heads", [](std::string name) { return replaced(name, "transformer.", ""); }, more);
}

TEST_F(GoldenCheckpoint, BertWithGammaAndBetaAndATiedCopy) {
  const Tensors stored = read_tensors(folder("bert-post-3-heads") + "/model.safetensors");
  const Tensors more{{"cls.predictions.decoder.weight", stored.at("bert.embeddings.word_embeddings.weight")},
                     {"cls.predictions.decoder.bias", stored.at("cls.predictions.bias")}};
  expect_read(
      "bert-post-3-heads",
      [](std::string name) {
        return replaced(replaced(name, "LayerNorm.weight", "LayerNorm.gamma"), "LayerNorm.bias",
                        "LayerNorm.beta");
      },
      more);
}

// The forward pass of the case, with its output matrix and bias stored as transformers 5 stores them if they
// are not tied: beside a bias that nobody adds.
TEST_F(GoldenCheckpoint, BertThatIsNotTied) {
  const std::string name = "bert-post-3-heads", decoder = "cls.predictions.decoder.";
  Tensors weights = read_tensors(folder(name) + "/model.safetensors");
  weights[decoder + "weight"] = weights.at("bert.embeddings.word_embeddings.weight");
  weights[decoder + "bias"] = weights.at("cls.predictions.bias");
  for (double& value : weights.at("cls.predictions.bias").numbers) value = 0.75;
  store(weights);
  std::ofstream(path("config.json")) << replaced(slurp(folder(name) + "/config.json"),
                                                 "\"tie_word_embeddings\": true",
                                                 "\"tie_word_embeddings\": false");
  const Tensors expected = expected_of(name, "expected"), dump = step(name, kFp64, folder_.string());
  for (const char* output : {"loss", "hidden", "logits", "sop_logits"})
    EXPECT_LE(norm(difference(dump.at(output).numbers, expected.at(output).numbers)),
              1e-11 * norm(expected.at(output).numbers))
        << output;
}

// transformers does not tie what differs, whatever config.json says.
TEST_F(GoldenCheckpoint, Gpt2WhoseConfigTiesAHeadOfItsOwn) {
  const std::string name = "gpt2-untied";
  store(read_tensors(folder(name) + "/model.safetensors"));
  std::ofstream(path("config.json")) << replaced(slurp(folder(name) + "/config.json"),
                                                 "\"tie_word_embeddings\": false",
                                                 "\"tie_word_embeddings\": true");
  expect_close(step(name, kFp64, folder_.string()), without_losses(expected_of(name, "expected")),
               {1e-11, 1e-11, 0}, true, name);
}

TEST_F(GoldenCheckpoint, Gpt2InShards) {
  const std::string name = "gpt2-3-heads";
  store(read_tensors(folder(name) + "/model.safetensors"), 60'000);
  EXPECT_TRUE(fs::exists(path("model.safetensors.index.json")));
  fs::copy_file(folder(name) + "/config.json", path("config.json"));
  expect_close(step(name, kFp64, folder_.string()), without_losses(expected_of(name, "expected")),
               {1e-11, 1e-11, 0}, true, name);
}

TEST_F(GoldenCheckpoint, BertWithoutItsPrefix) {
  for (const char* name : {"bert-post-3-heads", "bert-pre-5-heads"})
    expect_read(name, [](std::string stored) { return replaced(stored, "bert.", ""); });
}

}  // namespace golden_checkpoint_test
}  // namespace shardlens
