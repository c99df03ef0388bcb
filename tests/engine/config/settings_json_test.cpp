// Settings survive JSON unchanged. A file with a mistake is refused, and the error names the place.
#include "engine/config/settings_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/io/json.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace settings_json_test {

using ::testing::HasSubstr;

// Settings that differ from the defaults in every field.
Settings other_settings() {
  Settings settings;
  settings.model = model_preset("bert-large");
  settings.split = named_split("reversed");
  settings.tp = 8;
  settings.dp = 2;
  settings.dtype = DType::Bf16;
  settings.batch = 3;
  settings.seq = 17;
  settings.seed = std::numeric_limits<uint64_t>::max();
  settings.block = Block::Attention;
  settings.layer = 5;
  settings.operands = Operands::Integer;
  settings.model.tied = false;
  settings.model.kv_heads = 4;
  settings.heads_policy = HeadsPolicy::Padded;
  settings.model.pad_token = 0;
  settings.split.embedding = EmbeddingCut::Replicated;
  settings.split.loss = LossForm::Gather;
  settings.micro_batches = 3;
  settings.recompute = Recompute::Full;
  settings.overlap_chunks = 4;
  settings.dropout = 0.1;
  settings.update = true;
  settings.cache_tokens = 77;
  settings.optimizer = {0.02, 0.8, 0.98, 1e-7, 2.0};
  settings.vocab_ranks = 4;
  settings.input = {InputKind::Text, "a \"file\" ü.txt"};
  settings.weights_path = "w.safetensors";
  settings.hardware = "h100-80gb";
  settings.threads_per_rank = 2;
  settings.backend = BackendChoice::Auto;
  settings.gpus = {0, 2};
  settings.communicator = CommunicatorChoice::LocalCuda;
  settings.tf32 = true;
  settings.delays = {{3, "attn.proj", 20.5}};
  settings.timeout_seconds = 2.5;
  return settings;
}

TEST(SettingsJson, RoundTripsThroughText) {
  for (const Settings& settings : {Settings{}, other_settings()}) {
    const std::string text = settings_to_json(settings).dump();
    EXPECT_EQ(settings_from_json(parse_json(text, "s"), "s"), settings);
  }
}

// A field added to Settings and forgotten in the JSON shows here: removing any key must be noticed.
TEST(SettingsJson, EveryKeyIsNeededAndNoOtherAllowed) {
  const nlohmann::json whole = settings_to_json(other_settings());
  const nlohmann::json flat = whole.flatten();
  EXPECT_EQ(flat.size(), 61u);
  for (const auto& [place, value] : flat.items()) {
    nlohmann::json without = whole;
    const nlohmann::json::json_pointer pointer(place);
    without[pointer.parent_pointer()].erase(pointer.back());
    if (place != "/timeout_seconds" && place != "/devices/tf32" && place != "/fusion") {
      EXPECT_THROW(settings_from_json(without, "s"), Error) << place;
    }
    nlohmann::json wrong = whole;
    wrong[pointer] = nlohmann::json::array();
    EXPECT_THROW(settings_from_json(wrong, "s"), Error) << place;
    nlohmann::json more = whole;
    more[pointer.parent_pointer()]["surprise"] = 1;
    EXPECT_THROW(settings_from_json(more, "s"), Error) << place;
  }
}

TEST(SettingsJson, AFileFromBeforeRanksCouldBeLateHasNone) {
  nlohmann::json json = settings_to_json(other_settings());
  json.erase("delays");
  EXPECT_TRUE(settings_from_json(json, "s").delays.empty());
  json["delays"] = 3;
  EXPECT_THROW(settings_from_json(json, "s"), Error);
}

TEST(SettingsJson, AFileFromBeforeThereWereGpusRanOnTheCpu) {
  nlohmann::json json = settings_to_json(other_settings());
  json.erase("devices");
  EXPECT_EQ(settings_from_json(json, "s").backend, BackendChoice::Cpu);
  EXPECT_TRUE(settings_from_json(json, "s").gpus.empty());
}

TEST(SettingsJson, AFileFromBeforeProductsCouldBeRoundedHasNoneThatAre) {
  nlohmann::json json = settings_to_json(other_settings());
  EXPECT_TRUE(settings_from_json(json, "s").tf32);
  json["devices"].erase("tf32");
  EXPECT_FALSE(settings_from_json(json, "s").tf32);
}

TEST(SettingsJson, GpusAreAListOfNumbers) {
  EXPECT_EQ(parse_gpus("3,0"), (std::vector<int>{3, 0}));
  EXPECT_TRUE(parse_gpus("").empty());
  const std::string file_text(5000, 'x');  // settings come from recordings and checkpoints too
  EXPECT_LT(error_of([&] { parse_gpus(file_text); }).size(), 300u);
  EXPECT_LT(error_of([&] { parse_delay(file_text); }).size(), 300u);
  for (const char* wrong : {"x", "1,", ",1", "1,,2", "1 2", "-1", "1.5"})
    EXPECT_THROW(parse_gpus(wrong), Error) << wrong;
}

TEST(SettingsJson, AFileFromBeforeRanksCouldBeLostHasTheUsualTimeOut) {
  nlohmann::json json = settings_to_json(other_settings());
  json.erase("timeout_seconds");
  EXPECT_EQ(settings_from_json(json, "s").timeout_seconds, Settings{}.timeout_seconds);
}

TEST(SettingsJson, ErrorsNameThePlace) {
  nlohmann::json json = settings_to_json(Settings{});
  json["split"]["mlp.fc"] = "rwo";
  try {
    settings_from_json(json, "state.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_THAT(error.what(),
                HasSubstr("state.json, split, \"mlp.fc\": unknown cut \"rwo\"; did you mean \"row\"?"));
  }
  json = settings_to_json(Settings{});
  json["tp"] = int64_t{1} << 40;
  EXPECT_THROW(settings_from_json(json, "state.json"), Error);
  json["tp"] = 1.5;
  EXPECT_THROW(settings_from_json(json, "state.json"), Error);
  EXPECT_THROW(settings_from_json(nlohmann::json(3), "state.json"), Error);
}

}  // namespace settings_json_test
}  // namespace shardlens
