// Items dropped on the window: a model goes to Setup, a folder is searched, anything else is opened.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/io/safetensors.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace studio_dropped_test {

namespace fs = std::filesystem;

constexpr double kTimeoutSeconds = 60;

class Dropped : public ::testing::Test {
 protected:
  Dropped() : folder_(fs::path(::testing::TempDir()) / ("shardlens_dropped_" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "model");
    std::ofstream(folder_ / "model" / "config.json")
        << R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 48, "n_head": 4, "vocab_size": 64,)"
        << R"( "n_positions": 8})";
  }
  ~Dropped() override { fs::remove_all(folder_); }

  void drop(const fs::path& path) {
    harness_.wait_until_at_rest();
    harness_.studio().open_dropped(path.string());
    harness_.studio().replay().wait_until_idle(kTimeoutSeconds);
    harness_.draw_frames(3);
    harness_.wait_until_at_rest();
  }

  fs::path folder_;
  StudioHarness harness_;
};

TEST_F(Dropped, AModelBecomesSetups) {
  drop(folder_ / "model");
  const Settings& settings = harness_.snapshot().settings;
  EXPECT_EQ(settings.model.title, "model");
  EXPECT_EQ(settings.model.hidden, 48);
  EXPECT_EQ(settings.seq, 8) << "as long as its positions";
  EXPECT_EQ(settings.weights_path, "");
  EXPECT_EQ(harness_.snapshot().state, RunState::Done) << harness_.snapshot().message;
}

TEST_F(Dropped, AModelsFolderCanBeTypedUnderWeights) {
  harness_.wait_until_at_rest();
  harness_.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Setup/Weights/##path");
    person.KeyCharsReplaceEnter((folder_ / "model").c_str());
  });
  harness_.wait_until_at_rest();
  EXPECT_EQ(harness_.snapshot().settings.model.hidden, 48);
  EXPECT_EQ(harness_.snapshot().settings.weights_path, "");
  EXPECT_EQ(harness_.snapshot().state, RunState::Done) << harness_.snapshot().message;
}

TEST_F(Dropped, AModelsFolderIsFoundInThePalette) {
  harness_.wait_until_at_rest();
  harness_.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("folder or weights");
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(4);
    person.KeyChars(folder_.c_str());  // the folder above: its folders are listed
    person.KeyPress(ImGuiKey_Enter);
    harness_.studio().replay().wait_until_idle(kTimeoutSeconds);
    person.Yield(4);
    person.ItemClick("//Open a recording/**/model");
    person.Yield(4);
  });
  harness_.wait_until_at_rest();
  EXPECT_FALSE(harness_.view().chooser_open);
  EXPECT_EQ(harness_.snapshot().settings.model.hidden, 48);
}

TEST_F(Dropped, WhatHoldsNoWeightsOffersSeededOnes) {
  harness_.wait_until_at_rest();
  const fs::path text = folder_ / "notes.safetensors";
  std::ofstream(text) << "no weights";
  harness_.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Setup/Weights/##path");
    person.KeyCharsReplaceEnter(text.c_str());
  });
  harness_.wait_until_at_rest();
  ASSERT_NE(harness_.snapshot().state, RunState::Done);
  harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/refusal/try seeded weights"); });
  harness_.wait_until_at_rest();
  EXPECT_EQ(harness_.snapshot().settings.weights_path, "");
  EXPECT_EQ(harness_.snapshot().state, RunState::Done);
}

TEST_F(Dropped, WeightsAreTakenWithTheModelTheyAreOf) {
  const fs::path weights = folder_ / "model" / "model.safetensors";
  std::ofstream(weights) << "none that can be read, which the run says";
  drop(weights);
  EXPECT_EQ(harness_.snapshot().settings.model.hidden, 48);
  EXPECT_EQ(harness_.snapshot().settings.weights_path, weights);
}

TEST_F(Dropped, AnotherModelIsChosenWithoutItsWeights) {
  const fs::path weights = folder_ / "model" / "model.safetensors";
  std::ofstream(weights) << "none that can be read, which the run says";
  drop(weights);
  harness_.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Bar/Model");
    person.ItemClick("//$FOCUSED/##GPT-2 toy");
  });
  harness_.wait_until_at_rest();
  EXPECT_EQ(harness_.snapshot().settings.model.name, "gpt2-tiny");
  EXPECT_EQ(harness_.snapshot().state, RunState::Done) << harness_.snapshot().message;
}

TEST_F(Dropped, OfSeveralWeightsThoseAreTakenThatWereDropped) {
  for (const char* name : {"model.safetensors", "model.fp16.safetensors"})
    std::ofstream(folder_ / "model" / name) << "none that can be read, which the run says";
  drop(folder_ / "model" / "model.fp16.safetensors");
  EXPECT_EQ(harness_.snapshot().settings.model.hidden, 48);
  EXPECT_EQ(harness_.snapshot().settings.weights_path, folder_ / "model" / "model.fp16.safetensors");
}

TEST_F(Dropped, WeightsWithoutTheirModelSayWhatIsMissing) {
  const Settings before = harness_.snapshot().settings;
  std::ofstream(folder_ / "stray.safetensors") << "whatever";
  drop(folder_ / "stray.safetensors");
  EXPECT_EQ(harness_.snapshot().settings, before);
  EXPECT_EQ(harness_.studio().replayed().message, "") << "nobody took it for a recording";
  harness_.perform([](ImGuiTestContext& person) { EXPECT_TRUE(person.ItemExists("//Message/Close")); });
}

TEST_F(Dropped, WeightsInAnotherFormAreNotReplacedByRandomOnes) {
  const Settings before = harness_.snapshot().settings;
  std::ofstream(folder_ / "model" / "pytorch_model.bin") << "whatever";
  drop(folder_ / "model");
  EXPECT_EQ(harness_.snapshot().settings, before);
  harness_.perform([](ImGuiTestContext& person) { EXPECT_TRUE(person.ItemExists("//Message/Close")); });
}

TEST_F(Dropped, TensorsThatAreNotReadAreSaid) {
  const float value = 1;
  write_safetensors((folder_ / "model" / "model.safetensors").string(),
                    {{"classifier.weight", DType::Fp32, {1}, &value}});
  drop(folder_ / "model");
  harness_.perform([](ImGuiTestContext& person) { EXPECT_TRUE(person.ItemExists("//Message/Close")); });
}

// Any of the files stands for all.
TEST_F(Dropped, AShardBringsTheIndex) {
  const fs::path index = folder_ / "model" / "model.safetensors.index.json";
  const fs::path shard = folder_ / "model" / "model-00001-of-00002.safetensors";
  for (const fs::path& file : {index, shard})
    std::ofstream(file) << "none that can be read, which the run says";
  for (const fs::path& file : {index, shard}) {
    drop(file);
    EXPECT_EQ(harness_.snapshot().settings.weights_path, index);
  }
}

TEST_F(Dropped, AnyOtherFolderIsLookedInto) {
  drop(folder_);
  EXPECT_TRUE(harness_.view().chooser_open);
  EXPECT_EQ(harness_.studio().replay().snapshot()->list->folder, folder_);
}

TEST_F(Dropped, AModelOnTheListOfRecordingsIsSeenAtOnce) {
  drop(folder_);
  ASSERT_TRUE(harness_.view().chooser_open);
  drop(folder_ / "model");
  EXPECT_EQ(harness_.snapshot().settings.model.hidden, 48);
  EXPECT_FALSE(harness_.view().chooser_open);
}

TEST_F(Dropped, AModelThatCannotBeReadChangesNothing) {
  const Settings before = harness_.snapshot().settings;
  std::ofstream(folder_ / "model" / "config.json") << "{}";
  drop(folder_ / "model");
  EXPECT_EQ(harness_.snapshot().settings, before);
}

}  // namespace studio_dropped_test
}  // namespace shardlens::ui
