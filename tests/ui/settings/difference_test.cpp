// Two settings in words: only what differs, and every setting by its name.
#include "ui/settings/difference.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "engine/config/presets.h"
#include "engine/config/splits.h"

namespace shardlens::ui {
namespace difference_test {

TEST(Difference, NamesOnlyWhatDiffers) {
  Settings a, b;
  EXPECT_EQ(difference(a, b), "");
  a.tp = 4;
  b.tp = 8;
  EXPECT_EQ(difference(a, b), "T = 4");
  EXPECT_EQ(difference(b, a), "T = 8");
  a.split.name = "reversed";
  a.dtype = DType::Fp64;
  EXPECT_EQ(difference(a, b), "T = 4, split reversed, fp64");
  Settings other_seed = a;
  other_seed.seed = a.seed + 1;
  EXPECT_EQ(difference(other_seed, a), "seed " + std::to_string(other_seed.seed));
  Settings lost = a;
  lost.delays = {{3, "attn.proj", 60000}};
  lost.timeout_seconds = 2;
  EXPECT_EQ(difference(lost, a), "with rank 3 lost, ranks lost after 2 s");
  EXPECT_EQ(difference(a, lost), "with every rank on time, ranks lost after 300 s");
}

TEST(Difference, NamesEverySetting) {
  const std::vector<std::function<void(Settings&)>> changes{
      [](Settings& s) { s.model = model_preset("gpt2-medium"); },
      [](Settings& s) { s.model.hidden *= 2; },
      [](Settings& s) { s.model.heads = 6; },
      [](Settings& s) { s.model.kv_heads = 4; },
      [](Settings& s) { s.model.ffn = 100; },
      [](Settings& s) { s.model.layers = 3; },
      [](Settings& s) { s.model.vocab = 300; },
      [](Settings& s) { s.model.positions = 64; },
      [](Settings& s) { s.model.norm = NormPlacement::Post; },
      [](Settings& s) { s.model.tied = false; },
      [](Settings& s) { s.model.activation = Activation::GeluErf; },
      [](Settings& s) { s.split = named_split("reversed"); },
      [](Settings& s) { s.split.mlp_fc = Cut::Replicated; },
      [](Settings& s) { s.split.embedding = EmbeddingCut::Replicated; },
      [](Settings& s) { s.split.norm = NormCut::Sequence; },
      [](Settings& s) { s.split.loss = LossForm::Gather; },
      [](Settings& s) { s.tp = 3; },
      [](Settings& s) { s.dp = 2; },
      [](Settings& s) { s.heads_policy = HeadsPolicy::Uneven; },
      [](Settings& s) { s.dtype = DType::Bf16; },
      [](Settings& s) { s.batch = 9; },
      [](Settings& s) { s.seq = 9; },
      [](Settings& s) { s.seed = 9; },
      [](Settings& s) { s.block = Block::Mlp; },
      [](Settings& s) { s.layer = 2; },
      [](Settings& s) { s.operands = Operands::Integer; },
      [](Settings& s) { s.micro_batches = 2; },
      [](Settings& s) { s.recompute = Recompute::Full; },
      [](Settings& s) { s.overlap_chunks = 2; },
      [](Settings& s) { s.fusion = Fusion::On; },
      [](Settings& s) { s.dropout = 0.1; },
      [](Settings& s) { s.update = true; },
      [](Settings& s) { s.cache_tokens = 8; },
      [](Settings& s) { s.optimizer.clip = 2; },
      [](Settings& s) { s.vocab_ranks = 4; },
      [](Settings& s) {
        s.input = {InputKind::Npy, "folder/x.npy"};
      },
      [](Settings& s) { s.weights_path = "folder/model.safetensors"; },
      [](Settings& s) { s.hardware = "h100"; },
      [](Settings& s) { s.threads_per_rank = 2; },
      [](Settings& s) { s.backend = BackendChoice::Cuda; },
      [](Settings& s) { s.gpus = {1}; },
      [](Settings& s) { s.communicator = CommunicatorChoice::Nccl; },
      [](Settings& s) { s.tf32 = true; },
      [](Settings& s) {
        s.delays = {{1, "attn.proj", 20}};
      },
      [](Settings& s) { s.timeout_seconds = 2; }};
  std::set<std::string> words;
  for (const auto& change : changes) {
    Settings changed;
    change(changed);
    const std::string there = difference(changed, Settings{}), back = difference(Settings{}, changed);
    EXPECT_FALSE(there.empty());
    EXPECT_FALSE(back.empty());
    EXPECT_TRUE(words.insert(there).second) << there << " names two changes";
  }
  EXPECT_TRUE(words.contains("weights model.safetensors"));
  EXPECT_TRUE(words.contains("input x.npy"));
}

}  // namespace difference_test
}  // namespace shardlens::ui
