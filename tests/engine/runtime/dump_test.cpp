// A layer's dump has what `step --help` promises, whatever the model, the block and the cut: its input, its
// output and their gradients, and every weight's gradient by the checkpoint's name and in its shape.
#include "engine/runtime/dump.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "engine/record/sample.h"
#include "engine/train/model_step.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace dump_test {

constexpr int64_t kLayer = 1;
const std::vector<Block> kBlocks{Block::Layer, Block::Attention, Block::Mlp};

// GPT-2, BERT, and BERT with LayerNorm first; each with as many key heads as heads, and with fewer.
std::vector<Settings> models() {
  std::vector<Settings> all;
  for (const int64_t key_heads : {0, 2}) {
    for (Settings settings : {testing::small_model(1), testing::small_bert(1), testing::small_bert(1)}) {
      settings.model.heads = 8;
      settings.model.kv_heads = key_heads;
      settings.dtype = DType::Fp64;
      settings.update = false;
      settings.batch = 2;
      if (all.size() % 3 == 2) settings.model.norm = NormPlacement::Pre;
      all.push_back(settings);
    }
  }
  return all;
}

Dump dump_of(Settings settings, Block block) {
  settings.block = block;
  settings.layer = kLayer;
  const auto plan = make_plan(settings);
  const auto gather = std::make_shared<Gather>(settings.tp, is_in_layer_dump);
  testing::run(plan, {gather});
  return layer_dump(plan->program, *gather);
}

// Whether a weight with this name belongs to the block.
bool is_in(Block block, const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const bool norm = has("ln") || has("LayerNorm");
  const bool attention = !norm && (has("attn") || has("attention"));
  return block == Block::Layer || (block == Block::Attention ? attention : !attention && !norm);
}

// The gradients of the layer in the dump of the whole model, which PyTorch's are compared with.
std::map<std::string, Shape> gradients_of(const Settings& settings, Block block) {
  ModelStepRequest request;
  request.dump = true;
  std::map<std::string, Shape> gradients;
  for (const auto& [name, tensor] : run_model_step(make_plan(settings), request).dump)
    if (name.starts_with("grad.") && name.find(".1.") != std::string::npos && is_in(block, name))
      gradients[name] = tensor.shape;
  return gradients;
}

double relative_difference(const DumpTensor& a, const DumpTensor& b) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < element_count(a.shape); ++i) {
    const double x = element_of(DType::Fp64, a.bytes.data(), i),
                 y = element_of(DType::Fp64, b.bytes.data(), i);
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference / size);
}

TEST(LayerDump, HasTheCheckpointsNamesAndShapes) {
  for (const Settings& settings : models()) {
    for (const Block block : kBlocks) {
      std::map<std::string, Shape> expected = gradients_of(settings, block);
      ASSERT_GE(expected.size(), 4u);
      const Shape stream{settings.batch, settings.seq, settings.model.hidden};
      for (const char* name : {"X", "hidden", "grad.X", "grad.Y"}) expected[name] = stream;
      std::map<std::string, Shape> found;
      for (const auto& [name, tensor] : dump_of(settings, block)) found[name] = tensor.shape;
      EXPECT_EQ(found, expected) << settings.model.name << " " << to_string(block);
    }
  }
}

TEST(LayerDump, IsTheSameForEveryCut) {
  std::vector<Split> splits;
  for (const char* name : {"megatron", "megatron-sp", "reversed", "row-row", "column-column", "replicated"})
    splits.push_back(named_split(name));
  splits.push_back(named_split("megatron"));
  splits.back().norm = NormCut::Parallel;
  for (Settings settings : models()) {
    for (const Block block : kBlocks) {
      settings.tp = 1;
      const Dump serial = dump_of(settings, block);
      for (const Split& split : splits) {
        for (const int tp : {2, 4}) {
          for (const int chunks : {1, 3}) {
            Settings cut = settings;
            cut.tp = tp;
            cut.split = split;
            cut.overlap_chunks = chunks;
            const Dump dump = dump_of(cut, block);
            ASSERT_EQ(dump.size(), serial.size()) << to_string(block);
            for (const auto& [name, tensor] : serial) {
              // What softmax does not depend on has a gradient of rounding errors.
              if (name.ends_with("key.bias")) continue;
              ASSERT_EQ(dump.at(name).shape, tensor.shape) << name;
              EXPECT_LE(relative_difference(dump.at(name), tensor), 1e-12) << name << " T = " << tp;
            }
          }
        }
      }
    }
  }
}

// What a whole model gives is the sum of all ranks' terms, with all its rows, in whatever order they came.
TEST(ModelDump, IsTheSameForEveryCut) {
  const auto dump_of_model = [](const Settings& settings) {
    ModelStepRequest request;
    request.dump = true;
    return run_model_step(make_plan(settings), request).dump;
  };
  const auto is_zero = [](const DumpTensor& tensor) {
    for (int64_t i = 0; i < element_count(tensor.shape); ++i)
      if (std::abs(element_of(DType::Fp64, tensor.bytes.data(), i)) > 1e-15) return false;
    return true;
  };
  for (Settings settings : models()) {
    settings.batch = 4;
    if (settings.model.is_grouped()) settings.seq = 1;  // a part of the batch then has one row
    settings.tp = 1;
    const Dump serial = dump_of_model(settings);
    settings.tp = 2;
    for (const EmbeddingCut embedding : {EmbeddingCut::Vocab, EmbeddingCut::Hidden, EmbeddingCut::Replicated})
      for (const LossForm loss : {LossForm::Fused, LossForm::Gather})
        for (const NormCut norm : {NormCut::Replicated, NormCut::Parallel, NormCut::Sequence})
          for (const int chunks : {1, 3}) {
            Settings cut = settings;
            cut.split.embedding = embedding;
            cut.split.loss = loss;
            cut.split.norm = norm;
            cut.overlap_chunks = chunks;
            cut.dp = chunks > 1 ? 2 : 1;
            cut.micro_batches = chunks > 1 ? 2 : 1;
            const Dump dump = dump_of_model(cut);
            ASSERT_EQ(dump.size(), serial.size());
            for (const auto& [name, tensor] : serial) {
              if (name.ends_with("key.bias")) continue;  // as above
              ASSERT_EQ(dump.at(name).shape, tensor.shape) << name;
              if (is_zero(tensor) && is_zero(dump.at(name))) continue;  // of queries that see one key
              EXPECT_LT(relative_difference(dump.at(name), tensor), 1e-9)
                  << name << ", embedding " << to_string(embedding) << ", loss " << to_string(loss)
                  << ", stream " << to_string(norm) << ", " << chunks << " chunks";
            }
          }
  }
}

}  // namespace dump_test
}  // namespace shardlens
