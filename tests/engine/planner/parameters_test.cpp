// The number of parameters: published counts, the paper's tables, and every form of a model.
#include "engine/planner/parameters.h"

#include <gtest/gtest.h>

#include "engine/config/presets.h"

namespace shardlens {
namespace parameters_test {

// Published exact counts: OpenAI's checkpoints; Google's BERT with its pre-training heads.
TEST(ParameterCount, EqualsPublishedCountsExactly) {
  EXPECT_EQ(parameter_count(model_preset("gpt2")), 124'439'808);
  EXPECT_EQ(parameter_count(model_preset("gpt2-medium")), 354'823'168);
  EXPECT_EQ(parameter_count(model_preset("gpt2-large")), 774'030'080);
  EXPECT_EQ(parameter_count(model_preset("gpt2-xl")), 1'557'611'200);
  EXPECT_EQ(parameter_count(model_preset("bert-base")), 110'106'428);
  EXPECT_EQ(parameter_count(model_preset("bert-large")), 336'226'108);
  const int64_t masked_lm = 768 * 768 + 768 + 2 * 768 + 30522;
  EXPECT_EQ(parameter_count(model_preset("bert-base")) - masked_lm - (2 * 768 + 2),
            109'482'240);  // the encoder with its pooler
}

// The paper's Tables 1, 2 and 4 in billions, to the digit they print.
TEST(ParameterCount, AgreesWithThePaper) {
  const std::pair<const char*, double> sizes[] = {
      {"megatron-355m", 0.355},       {"megatron-1.2b", 1.2},      {"megatron-2.5b", 2.5},
      {"megatron-4.2b", 4.2},         {"megatron-8.3b", 8.3},      {"megatron-8.3b-24-heads", 8.3},
      {"megatron-bert-336m", 0.336},  {"megatron-bert-1.3b", 1.3}, {"megatron-bert-3.9b", 3.9},
      {"megatron-8.3b-16-heads", 8.3}};
  for (const auto& [name, billions] : sizes) {
    const double exact = static_cast<double>(parameter_count(model_preset(name))) / 1e9;
    const double rounding = billions < 1 ? 0.0005 : 0.05;
    EXPECT_NEAR(exact, billions, rounding) << name;
  }
  EXPECT_NEAR(static_cast<double>(parameter_count(model_preset("gpt3-175b"))), 175e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(parameter_count(model_preset("gpt-1t"))), 1e12, 0.01e12);
}

// What transformers' num_parameters() says of the same configurations.
TEST(ParameterCount, CountsAnOutputMatrixThatIsNotTied) {
  Model gpt = model_preset("gpt2");
  gpt.tied = false;
  EXPECT_EQ(parameter_count(gpt), 163'037'184);
  Model bert = model_preset("bert-base");
  bert.tied = false;
  EXPECT_EQ(parameter_count(bert), 110'106'428 + 30'522 * 768);
}

TEST(ParameterCount, CountsKeysAndValuesOfTheKeyHeadsOnly) {
  for (const char* name : {"gpt2", "bert-base", "megatron-bert-336m"}) {
    Model model = model_preset(name);
    const int64_t whole = parameter_count(model);
    model.kv_heads = model.heads / 4;
    const int64_t columns = 2 * (model.heads - model.kv_heads) * model.head_dim();
    EXPECT_EQ(parameter_count(model), whole - model.layers * (model.hidden + 1) * columns) << name;
  }
}

// 4h² + 2hf weights, 5h + f biases and two norms of 2h in a layer.
TEST(ParameterCount, GrowsEvenlyWithTheLayers) {
  Model model = model_preset("gpt2");
  const int64_t twelve = parameter_count(model), h = model.hidden, f = 1000;
  model.layers = 13;
  EXPECT_EQ(parameter_count(model) - twelve, 4 * h * h + 2 * h * model.ffn + 5 * h + model.ffn + 4 * h);
  model.layers = 12;
  model.ffn = f;
  EXPECT_EQ(twelve - parameter_count(model), 12 * (2 * h + 1) * (3072 - f));
}

}  // namespace parameters_test
}  // namespace shardlens
