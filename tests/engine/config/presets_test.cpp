// Compares presets with the published sizes, and reads good and bad Hugging Face configurations.
#include "engine/config/presets.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <tuple>

#include "engine/base/error.h"
#include "engine/config/model_config.h"
#include "engine/config/validate.h"
#include "engine/config/weights_of_model.h"

namespace shardlens {
namespace presets_test {

using ::testing::HasSubstr;

// A folder of its own that is gone after the test.
class ModelFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("shardlens_") + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
               "_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write_config(const std::string& text) { std::ofstream(folder_ / "config.json") << text; }
  std::string error_of() {
    try {
      find_model(folder_.string());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request);
      return error.what();
    }
    return "no error";
  }
  std::filesystem::path folder_;
};

TEST(Presets, AllAreValidAndNamed) {
  EXPECT_GE(model_presets().size(), 18u);
  for (const Model& model : model_presets()) {
    EXPECT_NO_THROW(validate_model(model)) << model.name;
    EXPECT_EQ(model_preset(model.name), model);
    EXPECT_FALSE(model.title.empty());
  }
}

TEST(Presets, ArchitectureDecidesWhatThePresetLeavesOut) {
  const Model gpt = model_preset("gpt2");
  EXPECT_EQ(gpt, Model{});  // the default of the settings is the preset
  const Model bert = model_preset("bert-base");
  EXPECT_EQ(bert.norm, NormPlacement::Post);
  EXPECT_FALSE(bert.causal);
  EXPECT_EQ(bert.activation, Activation::GeluErf);
  EXPECT_EQ(model_preset("megatron-bert-3.9b").norm, NormPlacement::Pre);
}

TEST(Presets, VocabularyIsPaddedPerRank) {
  EXPECT_EQ(padded_vocab(model_preset("gpt2"), 8), 51'200);  // the paper's figure
  EXPECT_EQ(padded_vocab(model_preset("gpt2"), 1), 50'304);
}

TEST(Presets, UnknownNameGetsTheNearest) {
  try {
    find_model("gpt2-xxl");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"gpt2-xl\"?"));
    EXPECT_THAT(error.what(), HasSubstr("megatron-8.3b"));
  }
}

TEST_F(ModelFolder, ReadsGpt2Config) {
  write_config(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 60, "n_head": 5, "vocab_size": 503,
    "n_positions": 17, "n_inner": null, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
    "architectures": ["GPT2LMHeadModel"], "resid_pdrop": 0.1})");
  const Model model = find_model(folder_.string());
  EXPECT_EQ(model.hidden, 60);
  EXPECT_EQ(model.heads, 5);
  EXPECT_EQ(model.ffn, 240);
  EXPECT_EQ(model.vocab, 503);
  EXPECT_EQ(model.positions, 17);
  EXPECT_TRUE(model.causal);
  EXPECT_EQ(model.title, folder_.filename());
  EXPECT_FALSE(model.is_grouped());
}

TEST_F(ModelFolder, ReadsAndWritesTheNumberOfKeyHeads) {
  write_config(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 60, "n_head": 6, "vocab_size": 503,
    "n_positions": 17, "num_key_value_heads": 2})");
  const Model model = find_model(folder_.string());
  EXPECT_EQ(model.key_heads(), 2);
  write_config(hugging_face_config(model, DType::Fp32, std::nullopt));
  EXPECT_EQ(find_model(folder_.string()).kv_heads, 2);
}

TEST_F(ModelFolder, ReadsBertConfig) {
  write_config(R"({"model_type": "bert", "num_hidden_layers": 3, "hidden_size": 48, "num_attention_heads": 3,
    "intermediate_size": 100, "vocab_size": 99, "max_position_embeddings": 64, "hidden_act": "gelu",
    "layer_norm_eps": 1e-12})");
  const Model model = find_model(folder_.string() + "/");
  EXPECT_EQ(model.objective, Objective::MaskedWords);
  EXPECT_EQ(model.ffn, 100);
  EXPECT_EQ(model.activation, Activation::GeluErf);
  EXPECT_EQ(model.norm_epsilon, 1e-12);
}

TEST_F(ModelFolder, RefusesWithTheReason) {
  EXPECT_THAT(error_of(), HasSubstr("no config.json"));
  write_config("{\"model_type\": \"gpt2\", ");
  EXPECT_THAT(error_of(), HasSubstr("not valid JSON"));
  write_config(R"({"model_type": "llama"})");
  EXPECT_THAT(error_of(), HasSubstr("known: gpt2, bert"));
  write_config(R"({"model_type": "gpt2", "n_layer": 2})");
  EXPECT_THAT(error_of(), HasSubstr("\"n_embd\" is missing"));
  write_config(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": "60"})");
  EXPECT_THAT(error_of(), HasSubstr("\"n_embd\" must be a whole number"));
  const std::string tail = R"(, "n_head": 5, "vocab_size": 503, "n_positions": 17)";
  write_config(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 62)" + tail + "}");
  EXPECT_THAT(error_of(), HasSubstr("hidden = 62 is not divisible by 5 heads"));
  write_config(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 9000000000000000000)" + tail + "}");
  EXPECT_THAT(error_of(), HasSubstr("hidden = 9000000000000000000 is not possible"));
  write_config(R"({"model_type": "gpt2", "n_layer": -2, "n_embd": 60)" + tail + "}");
  EXPECT_THAT(error_of(), HasSubstr("layers = -2 is not possible"));
  write_config(R"({"model_type": "gpt2", "n_layer": 2001, "n_embd": 60)" + tail + "}");
  EXPECT_THAT(error_of(), HasSubstr("layers = 2001 is not possible. Choose from 1 to 2,000"));
  write_config(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 60, "activation_function": "relu")" + tail +
               "}");
  EXPECT_THAT(error_of(), HasSubstr("\"relu\" is not supported"));
}

TEST_F(ModelFolder, RefusesAnotherFunction) {
  const std::string gpt = R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 60, "n_head": 5,
    "vocab_size": 503, "n_positions": 17)";
  const std::string bert = R"({"model_type": "bert", "num_hidden_layers": 3, "hidden_size": 48,
    "num_attention_heads": 3, "intermediate_size": 100, "vocab_size": 99, "max_position_embeddings": 64)";
  const std::tuple<std::string, std::string, std::string> other[] = {
      {gpt, R"("scale_attn_weights": false)", "known: true"},
      {gpt, R"("scale_attn_by_inverse_layer_idx": true)", "known: false"},
      {gpt, R"("add_cross_attention": true)", "known: false"},
      {gpt, R"("pruned_heads": {"0":[1]})", "known: {}"},
      {bert, R"("position_embedding_type": "relative_key")", "known: \"absolute\""},
      {bert, R"("is_decoder": true)", "known: false"},
      {bert, R"("add_cross_attention": true)", "known: false"},
      {bert, R"("type_vocab_size": 1)", "known: 2"}};
  for (const auto& [sizes, asked, known] : other) {
    write_config(sizes + ", " + asked + "}");
    EXPECT_THAT(error_of(), HasSubstr("config.json: " + asked + " is not supported; " + known));
  }
  write_config(gpt + R"(, "scale_attn_weights": true, "reorder_and_upcast_attn": true, "use_cache": false,
    "pruned_heads": {}, "chunk_size_feed_forward": 8})");
  EXPECT_EQ(error_of(), "no error");
  write_config(bert +
               R"(, "position_embedding_type": "absolute", "is_decoder": null, "type_vocab_size": 2})");
  EXPECT_EQ(error_of(), "no error");
}

// The defaults of transformers' classes: a key that is left out does not mean none.
TEST_F(ModelFolder, AKeyThatIsLeftOutHasTheClassesDefault) {
  const std::string gpt = R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 60, "n_head": 5,
    "vocab_size": 503, "n_positions": 17})";
  const std::string sizes = R"("num_hidden_layers": 3, "hidden_size": 48,
    "num_attention_heads": 3, "intermediate_size": 100, "vocab_size": 99, "max_position_embeddings": 64)";
  write_config(gpt);
  const Model gpt2 = find_model(folder_.string());
  EXPECT_EQ(gpt2.activation, Activation::GeluTanh);
  EXPECT_EQ(gpt2.norm_epsilon, 1e-5);
  EXPECT_EQ(gpt2.ffn, 240);
  EXPECT_TRUE(gpt2.tied);
  EXPECT_EQ(gpt2.pad_token, -1);
  for (const char* type : {"bert", "megatron-bert"}) {
    write_config(fmt::format(R"({{"model_type": "{}", {}}})", type, sizes));
    const Model bert = find_model(folder_.string());
    EXPECT_EQ(bert.activation, Activation::GeluErf) << type;
    EXPECT_EQ(bert.norm_epsilon, 1e-12) << type;
    EXPECT_TRUE(bert.tied) << type;
    EXPECT_EQ(bert.pad_token, 0) << type;
  }
}

// As torch's Embedding takes padding_idx.
TEST_F(ModelFolder, ThePaddingWordMayCountFromTheEnd) {
  const auto write_pad = [&](const std::string& pad) {
    write_config(
        R"({"model_type": "bert", "num_hidden_layers": 3, "hidden_size": 48, "num_attention_heads": 3,
      "intermediate_size": 100, "vocab_size": 99, "max_position_embeddings": 64, "pad_token_id": )" +
        pad + "}");
  };
  const std::pair<const char*, int64_t> words[] = {
      {"null", -1}, {"0", 0}, {"98", 98}, {"-1", 98}, {"-99", 0}};
  for (const auto& [given, meant] : words) {
    write_pad(given);
    EXPECT_EQ(find_model(folder_.string()).pad_token, meant) << given;
  }
  for (const char* none : {"99", "-100"}) {
    write_pad(none);
    EXPECT_THAT(error_of(),
                HasSubstr("\"pad_token_id\": " + std::string(none) + " is not a word of 99; give 0 to 98"));
  }
  write_pad("\"0\"");
  EXPECT_THAT(error_of(), HasSubstr("\"pad_token_id\" must be a whole number"));
}

// transformers reads both names of GPT-2's sizes.
TEST_F(ModelFolder, ReadsGpt2SizesUnderTheirGeneralNames) {
  write_config(R"({"model_type": "gpt2", "num_hidden_layers": 2, "hidden_size": 60, "num_attention_heads": 5,
    "max_position_embeddings": 17, "vocab_size": 503})");
  const Model model = find_model(folder_.string());
  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.hidden, 60);
  EXPECT_EQ(model.heads, 5);
  EXPECT_EQ(model.positions, 17);
  write_config(R"({"model_type": "gpt2", "n_layer": 2, "num_hidden_layers": 3, "n_embd": 60, "n_head": 5,
    "n_positions": 17, "vocab_size": 503})");
  EXPECT_THAT(error_of(), HasSubstr("\"n_layer\" is 2 and \"num_hidden_layers\" is 3"));
}

// A folder with the name of a preset is another model: which one is meant must not depend on the question.
TEST_F(ModelFolder, APresetIsNotMixedWithAFolderOfItsName) {
  write_config(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 60, "n_head": 5, "vocab_size": 503,)"
               R"( "n_positions": 17})");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  std::filesystem::create_directories("gpt2-tiny");
  std::filesystem::copy(folder_ / "config.json", folder_ / "gpt2-tiny");
  std::ofstream("gpt2-tiny/model.safetensors") << "of the folder";
  EXPECT_EQ(find_model("gpt2-tiny").title, model_preset("gpt2-tiny").title);
  EXPECT_EQ(weights_of_model("gpt2-tiny"), "");
  EXPECT_THAT(hidden_folder_remark("gpt2-tiny"), HasSubstr("write ./gpt2-tiny"));
  EXPECT_EQ(find_model("./gpt2-tiny").title, "gpt2-tiny");
  EXPECT_EQ(weights_of_model("./gpt2-tiny"), "./gpt2-tiny/model.safetensors");
  EXPECT_EQ(hidden_folder_remark("./gpt2-tiny"), "");
  EXPECT_EQ(hidden_folder_remark("gpt2"), "");
  std::filesystem::current_path(before);
}

}  // namespace presets_test
}  // namespace shardlens
