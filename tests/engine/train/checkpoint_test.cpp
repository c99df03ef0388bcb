// A run that was saved and resumed equals an uninterrupted run. Damaged or unsuitable checkpoints are
// refused. An error while saving leaves the earlier checkpoint in place.
#include "engine/train/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/config/presets.h"
#include "engine/config/weights_of_model.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/io/safetensors.h"
#include "engine/io/temporary_folder.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/checksum.h"
#include "engine/runtime/stored_weights.h"
#include "engine/train/model_state.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "tests/engine/full_disk.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/train/small_training.h"

namespace shardlens {
namespace checkpoint_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::lasting_state;
using testing::small_bert;
using testing::small_model;
using testing::small_trainer;
using testing::small_training;

class CheckpointTest : public TestFolder {
 protected:
  // Trains `steps` steps and saves to run/.
  Trainer trained(const Settings& settings, int64_t steps) {
    TrainOptions options = small_training(settings, 6);
    options.checkpoint = path("run");
    Trainer trainer = small_trainer(options);
    for (int64_t i = 0; i < steps; ++i) trainer.step();
    trainer.save();
    return trainer;
  }
  Trainer resumed(int tp, int dp) {
    TrainOptions options = resume_options(path("run"));
    options.settings.tp = tp;
    options.settings.dp = dp;
    return small_trainer(options);
  }
  std::string resume_error() {
    return error_of([&] { resumed(1, 1); });
  }
  // Rewrites a file of the checkpoint.
  void change(const std::string& file, const std::function<void(std::string&)>& edit) {
    std::string bytes = contents("run/" + file);
    edit(bytes);
    write("run/" + file, bytes);
  }
  // A value of training.json that somebody changed on purpose: without the checksum of itself.
  void change_value(const std::string& pointer, const nlohmann::json& value) {
    change("training.json", [&](std::string& text) {
      nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
      EXPECT_EQ(json["checksums"].erase("training.json"), 1u);
      json.at(nlohmann::ordered_json::json_pointer(pointer)) = value;
      text = json.dump(2);
    });
  }
};

TEST_F(CheckpointTest, AResumedRunIsBitForBitTheRunThatWasNotInterrupted) {
  for (const Settings& settings : {small_model(2, 2), small_model(3), small_bert(2), small_model(1)}) {
    Trainer whole = small_trainer(small_training(settings, 6));
    std::vector<double> expected;
    for (int i = 0; i < 6; ++i) expected.push_back(whole.step().loss);
    trained(settings, 3);
    Trainer rest = resumed(settings.tp, settings.dp);
    ASSERT_EQ(rest.steps_done(), 3);
    for (size_t i = 3; i < 6; ++i) EXPECT_EQ(rest.step().loss, expected[i]) << "step " << i + 1;
    EXPECT_EQ(lasting_state(rest), lasting_state(whole));
    fs::remove_all(path("run"));
  }
}

TEST_F(CheckpointTest, ARunGoesOnAtAnotherTOrD) {
  Settings settings = small_model(2);
  settings.dtype = DType::Fp64;
  Trainer whole = small_trainer(small_training(settings, 6));
  std::vector<double> expected;
  for (int i = 0; i < 6; ++i) expected.push_back(whole.step().loss);
  trained(settings, 3);
  for (const auto& [tp, dp] : {std::pair{1, 1}, {3, 1}, {5, 1}, {1, 2}, {2, 2}}) {
    Trainer rest = resumed(tp, dp);
    for (size_t i = 3; i < 6; ++i)
      EXPECT_NEAR(rest.step().loss, expected[i], 1e-11) << "T = " << tp << ", D = " << dp;
  }
}

TEST_F(CheckpointTest, HoldsTheModelAsHuggingFaceWritesIt) {
  trained(small_bert(2), 1);
  const Model model = find_model(path("run"));
  EXPECT_EQ(model.objective, Objective::MaskedWords);
  EXPECT_EQ(model.norm, NormPlacement::Post);
  EXPECT_EQ(parameter_count(model), parameter_count(small_bert(1).model));
  const SafetensorsFile weights(path("run/model.safetensors"));
  EXPECT_EQ(weights.metadata().at("format"), "pt");
  const std::string layer = "bert.encoder.layer.0.";
  EXPECT_EQ(weights.require(layer + "attention.self.query.weight", {40, 40}).dtype, "F32");
  weights.require(layer + "intermediate.dense.weight", {96, 40});  // [out, in]
  weights.require("bert.embeddings.word_embeddings.weight", {53, 40});
  const SafetensorsFile moments(path("run/optimizer.safetensors"));
  moments.require("adam.v." + layer + "attention.self.value.bias", {40});
}

TEST_F(CheckpointTest, EveryKindOfModelComesBackFromItsConfig) {
  Settings pre = small_bert(1);
  pre.model.norm = NormPlacement::Pre;
  pre.model.pad_token = 7;
  for (const Settings& settings : {small_model(1), small_bert(1), pre}) {
    trained(settings, 0);
    Model read = find_model(path("run"));
    read.name = settings.model.name;
    read.title = settings.model.title;
    EXPECT_EQ(read, settings.model);
    fs::remove_all(path("run"));
  }
}

// The limit on a file's size stands for a full disk.
TEST_F(CheckpointTest, AFullDiskLeavesTheCheckpointBefore) {
  Trainer trainer = trained(small_model(1), 2);
  const std::string before = contents("run/model.safetensors");
  trainer.step();
  const std::string message = error_of([&] {
    const testing::FullDisk disk(50'000);
    trainer.save();
  });
  EXPECT_THAT(message, AllOf(HasSubstr("of step 3 could not be saved"), HasSubstr("model.safetensors"),
                             HasSubstr("is unchanged")));
  EXPECT_EQ(contents("run/model.safetensors"), before);
  EXPECT_EQ(files_in_folder(), 2u) << "run and run.lock";
  trainer.save();  // and once there is room again
  EXPECT_EQ(read_training_state(path("run")).step, 3);
}

TEST_F(CheckpointTest, LeftoversOfAKillAreNoObstacle) {
  write("x", "");
  const std::string left = std::string("run.part-abcdef/") + TemporaryFolder::kOwnMark;
  const auto leave = [&] {
    fs::create_directories(path(left));
    write(left + "/model.safetensors", "half");
  };
  {
    Trainer trainer = trained(small_model(1), 1);
    leave();
    trainer.step();
    trainer.save();
  }
  // Gone as soon as the next run begins, also one that has nothing to save.
  write("run.lock", "");
  EXPECT_EQ(resumed(1, 1).steps_done(), 2);
  EXPECT_EQ(files_in_folder(), 2u) << "run and x";
  fs::rename(path("run"), path("run.previous"));  // killed between two moves
  EXPECT_EQ(resumed(1, 1).steps_done(), 2);
}

// Beside a checkpoint a person may have folders of any name.
TEST_F(CheckpointTest, FoldersOfAPersonBesideItStay) {
  for (const std::string folder : {"run.part", "run.part-abcdef", "run.previous"}) {
    fs::create_directory(path(folder));
    write(folder + "/notes.txt", "mine");
  }
  Trainer trainer = trained(small_model(1), 1);
  trainer.step();
  trainer.save();
  for (const std::string folder : {"run.part", "run.part-abcdef", "run.previous"})
    EXPECT_EQ(contents(folder + "/notes.txt"), "mine") << folder;
}

// A kill after the two folders were exchanged and before the user's files were moved to the new one.
TEST_F(CheckpointTest, FilesOfAPersonOutliveAKill) {
  trained(small_model(1), 1);
  const std::string left = std::string("run.part-abcdef/") + TemporaryFolder::kOwnMark;
  fs::create_directory(path("run.part-abcdef"));
  fs::copy(path("run"), path(left));
  write(left + "/notes.txt", "mine");
  resumed(1, 1);
  EXPECT_EQ(contents("run/notes.txt"), "mine");
  EXPECT_EQ(files_in_folder(), 1u) << "run";
}

// Makes exchanges of two files fail for this thread, as on file systems that have none.
void refuse_exchanges() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST_F(CheckpointTest, WhereFoldersCannotBeExchangedACopyOfAPersonStays) {
  std::thread([&] {
    refuse_exchanges();
    Trainer trainer = trained(small_model(1), 1);
    write("run/notes.txt", "mine");
    for (int i = 0; i < 2; ++i) {
      trainer.step();
      trainer.save();
    }
    EXPECT_EQ(read_training_state(path("run")).step, 3);
    EXPECT_EQ(contents("run/notes.txt"), "mine");
    EXPECT_FALSE(fs::exists(path("run.previous")));
    fs::copy(path("run"), path("run.previous"));  // as a person does before something is tried
    trainer.step();
    EXPECT_THAT(error_of([&] { trainer.save(); }), HasSubstr("run.previous is in the way"));
    EXPECT_EQ(read_training_state(path("run.previous")).step, 3);
    EXPECT_EQ(read_training_state(path("run")).step, 3);
    EXPECT_EQ(contents("run/notes.txt"), "mine");
  }).join();
}

// The next ones replace it at any moment, also between the reading of two of its files.
TEST_F(CheckpointTest, AReaderFindsOneWholeCheckpointWhileTheNextAreSaved) {
  TrainOptions options = small_training(small_model(1), 1'000'000);
  options.checkpoint = path("run");
  Trainer trainer = small_trainer(options);
  trainer.step();
  trainer.save();
  std::atomic<bool> all_read{false};
  std::thread reader([&] {
    for (int i = 0; i < 60; ++i) {
      TrainOptions goes_on = resume_options(path("run"));
      goes_on.checkpoint.clear();
      int64_t found = -1;
      EXPECT_EQ(error_of([&] { found = small_trainer(goes_on).steps_done(); }), "no error");
      EXPECT_GE(found, 1);
    }
    all_read = true;
  });
  while (!all_read) {
    trainer.step();
    trainer.save();
  }
  reader.join();
}

// As of two runs that were given one folder, which would take turns overwriting each other's: the second is
// refused for as long as the first may save.
TEST_F(CheckpointTest, TwoRunsDoNotSaveToOneFolder) {
  TrainOptions options = small_training(small_model(1), 6);
  options.checkpoint = path("run");
  {
    const Trainer has_not_saved_yet = small_trainer(options);
    EXPECT_THAT(error_of([&] { small_trainer(options); }), HasSubstr("another run is writing to"));
  }
  Trainer trainer = trained(small_model(1), 1);
  const std::string part = std::string("run.part-abcdef/") + TemporaryFolder::kOwnMark;
  fs::create_directories(path(part));
  write(part + "/model.safetensors", "being saved");
  EXPECT_THAT(resume_error(),
              AllOf(HasSubstr("another run is writing to"), HasSubstr(path("run")), HasSubstr("wait")));
  EXPECT_EQ(contents(part + "/model.safetensors"), "being saved");
  fs::remove_all(path("run.part-abcdef"));
  while (trainer.steps_done() < trainer.options().steps) trainer.step();
  trainer.save();
  EXPECT_EQ(files_in_folder(), 1u);
  EXPECT_EQ(resumed(1, 1).steps_done(), trainer.steps_done());
}

// Nor one run after the other: the first one's would be lost.
TEST_F(CheckpointTest, AnotherRunsIsNotReplaced) {
  trained(small_model(1), 2);
  const std::string before = contents("run/training.json");
  TrainOptions options = small_training(small_model(1), 6);
  options.checkpoint = path("run");
  EXPECT_THAT(error_of([&] { small_trainer(options); }),
              AllOf(HasSubstr(path("run") + " holds the checkpoint of another run"), HasSubstr("--restart")));
  fs::copy(path("run"), path("copy"));
  options = resume_options(path("copy"));
  options.checkpoint = path("run");
  EXPECT_THAT(error_of([&] { small_trainer(options); }), HasSubstr("another run"));
  EXPECT_EQ(contents("run/training.json"), before);
  options.checkpoint = path("run") + "/";
  options.resume = path("run");
  EXPECT_NO_THROW(small_trainer(options)) << "it goes on with its own";
  fs::create_directory_symlink(path("run"), path("link"));
  options.checkpoint = path("link");
  EXPECT_NO_THROW(small_trainer(options)) << "by whatever name";
}

// What is saved, and what is locked, is the folder that a link leads to, there or not.
TEST_F(CheckpointTest, ALinkStaysAndWhatItLeadsToIsTheCheckpoint) {
  fs::create_directories(path("disk"));
  fs::create_directory_symlink(path("disk"), path("run"));
  const Trainer trainer = trained(small_model(1), 2);
  EXPECT_TRUE(fs::is_symlink(path("run")));
  EXPECT_EQ(read_training_state(path("disk")).step, 2);
  EXPECT_THAT(error_of([&] { small_trainer(resume_options(path("disk"))); }),
              HasSubstr("another run is writing to"));
  fs::create_directory_symlink("disk/later", path("new"));
  TrainOptions options = small_training(small_model(1), 6);
  options.checkpoint = path("new/");
  small_trainer(options).save();
  EXPECT_TRUE(fs::is_symlink(path("new")));
  EXPECT_EQ(read_training_state(path("disk/later")).step, 0);
}

TEST_F(CheckpointTest, FilesOfAPersonStay) {
  Trainer trainer = trained(small_model(1), 1);
  write("run/notes.txt", "mine");
  trainer.save();
  EXPECT_EQ(contents("run/notes.txt"), "mine");
  fs::create_directories(path("other"));
  write("other/thesis.tex", "mine");
  EXPECT_THAT(error_of([&] { take_checkpoint_place(path("other")); }), HasSubstr("no checkpoint"));
  EXPECT_THAT(error_of([&] { take_checkpoint_place(path("run/notes.txt")); }), HasSubstr("is a file"));
  EXPECT_THAT(error_of([&] { take_checkpoint_place("/proc/none/run"); }), HasSubstr("/proc/none/run"));
}

TEST_F(CheckpointTest, ParametersThatAreNoNumbersAreNotSaved) {
  Trainer trainer = trained(small_model(1), 1);
  const Program& program = trainer.plan().program;
  const TensorId id = lasting_tensors(program).front();
  std::vector<std::byte> whole = read_whole(trainer.executor(), program, id);
  const float infinity = INFINITY;
  std::memcpy(whole.data() + 20, &infinity, 4);
  write_whole(trainer.executor(), program, id, whole);
  EXPECT_THAT(error_of([&] { trainer.save(); }),
              AllOf(HasSubstr("holds infinity at element 5"), HasSubstr("is unchanged")));
}

TEST_F(CheckpointTest, WhatIsDamagedOrMissingIsNamed) {
  const auto fresh = [&] {
    fs::remove_all(path("run"));
    trained(small_model(1), 2);
  };
  EXPECT_THAT(error_of([&] { read_training_state(path("nothing")); }), HasSubstr("training.json"));
  fresh();
  change("model.safetensors", [](std::string& bytes) { bytes.resize(bytes.size() / 2); });
  EXPECT_THAT(resume_error(), AllOf(HasSubstr("model.safetensors"), HasSubstr("cut short")));
  fresh();
  fs::remove(path("run/optimizer.safetensors"));
  EXPECT_THAT(resume_error(), AllOf(HasSubstr("optimizer.safetensors is missing"), HasSubstr("--model")));
  fresh();
  fs::remove(path("run/model.safetensors"));
  EXPECT_THAT(resume_error(), HasSubstr("model.safetensors is missing"));
  TrainOptions anew = small_training(small_model(1), 1);
  anew.settings.weights_path = weights_of_model(path("run"));
  EXPECT_THAT(error_of([&] { small_trainer(anew); }), HasSubstr("cannot open " + anew.settings.weights_path));
  fresh();
  change("training.json", [](std::string& text) { text.resize(text.size() / 2); });
  EXPECT_THAT(resume_error(), HasSubstr("training.json"));
  fresh();
  change_value("/step", 3);
  EXPECT_THAT(resume_error(), HasSubstr("do not belong together"));
  fresh();
  change_value("/format", 9);
  EXPECT_THAT(resume_error(), HasSubstr("format 9"));
  fresh();
  change_value("/loss_scale", 0.0);
  EXPECT_THAT(resume_error(), HasSubstr("a loss scale of 0"));
  fresh();
  change_value("/settings/model/hidden", 80);
  EXPECT_THAT(resume_error(), AllOf(HasSubstr("model.safetensors"), HasSubstr("shape")));
}

// A number of another size that no other check would find: the last byte of both files is one of a tensor.
TEST_F(CheckpointTest, OneBitOfATensorThatChangedIsRefused) {
  trained(small_model(2), 2);
  const auto flip = [](std::string& bytes) { bytes.back() ^= 1; };
  for (const std::string file : {"model.safetensors", "optimizer.safetensors"}) {
    change(file, flip);
    EXPECT_THAT(resume_error(), AllOf(HasSubstr("run/" + file + " is damaged"), HasSubstr("from a copy")));
    change(file, flip);
    EXPECT_EQ(resume_error(), "no error");
  }
  // A model that is read for anything else too: evaluated, or trained anew.
  TrainOptions options = small_training(small_model(2), 1);
  options.settings.weights_path = path("run/model.safetensors");
  EXPECT_NO_THROW(small_trainer(options));
  change("model.safetensors", flip);
  EXPECT_THAT(error_of([&] { small_trainer(options); }), HasSubstr("model.safetensors is damaged"));
}

// A learning rate, a seed: numbers that would only make the run another one.
TEST_F(CheckpointTest, ADigitOfTheStateThatChangedIsRefused) {
  trained(small_model(2), 2);
  const std::string saved = contents("run/training.json");
  int digits = 0;
  for (size_t at = 0; at < saved.size(); ++at) {
    if (saved[at] < '1' || saved[at] > '8') continue;
    change("training.json", [&](std::string& text) { ++text[at]; });
    EXPECT_THAT(error_of([&] { read_training_state(path("run")); }),
                AnyOf(HasSubstr("training.json is damaged"), HasSubstr("\"beta2\" appears twice")))
        << saved.substr(at, 20);
    EXPECT_THAT(error_of([&] { require_as_saved(path("run/model.safetensors")); }),
                HasSubstr("training.json"));
    write("run/training.json", saved);
    ++digits;
  }
  EXPECT_GT(digits, 50);
  // Spaces and the order of what is in it are nobody's damage.
  change("training.json", [](std::string& text) { text = nlohmann::json::parse(text).dump(); });
  EXPECT_EQ(resume_error(), "no error");
}

TEST_F(CheckpointTest, ChecksumsOfAnOlderVersionAreCheckedToo) {
  trained(small_model(2), 2);
  // Files of one block, so their checksum is the hash of the block's hash.
  const auto digits = [](const std::string& bytes) {
    const uint64_t block = hash_of_version_1(bytes.data(), bytes.size());
    return fmt::format("{:016x}", hash_of_version_1(&block, sizeof block));
  };
  change("training.json", [&](std::string& text) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
    EXPECT_EQ(json["checksums"].size(), 3u);
    json["checksums"].erase("training.json");
    for (auto& [name, checksum] : json["checksums"].items()) {
      EXPECT_LT(contents("run/" + name).size(), Checksum::kBlockBytes);
      checksum = digits(contents("run/" + name));
    }
    json["checksums"]["training.json"] = digits(nlohmann::json(json).dump());
    text = json.dump(2);
  });
  EXPECT_EQ(resume_error(), "no error");
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const auto flip = [](std::string& bytes) { bytes[bytes.size() - 3] ^= 1; };
    change(file, flip);
    EXPECT_THAT(resume_error(), HasSubstr(std::string(file) + " is damaged")) << file;
    change(file, flip);
  }
  change("training.json",
         [](std::string& text) { text.replace(text.find("\"step\": 2"), 9, "\"step\": 1"); });
  EXPECT_THAT(resume_error(), HasSubstr("training.json is damaged"));
}

TEST_F(CheckpointTest, OneOfAnOlderVersionHasNoChecksums) {
  trained(small_model(1), 2);
  change("training.json", [](std::string& text) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
    EXPECT_EQ(json.erase("checksums"), 1u);
    text = json.dump();
  });
  EXPECT_EQ(resumed(1, 1).steps_done(), 2);
}

class ShardedCheckpoint : public CheckpointTest {
 protected:
  static constexpr int64_t kSmallShards = 20'000;

  Trainer trained_with(int64_t shard_bytes, int64_t steps = 2) {
    TrainOptions options = small_training(small_model(2), 6);
    options.checkpoint = path("run");
    options.shard_bytes = shard_bytes;
    if (is_checkpoint(path("run"))) options.resume = path("run");
    Trainer trainer = small_trainer(options);
    while (trainer.steps_done() < steps) trainer.step();
    trainer.save();
    return trainer;
  }
  std::vector<std::string> files(const std::string& begin) const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(path("run")))
      if (entry.path().filename().string().starts_with(begin)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(ShardedCheckpoint, GoesOnWithTheSameBits) {
  Trainer whole = small_trainer(small_training(small_model(2), 6));
  for (int i = 0; i < 6; ++i) whole.step();
  trained_with(kSmallShards, 3);
  EXPECT_GT(files("model").size(), 3u);
  EXPECT_GT(files("optimizer").size(), 6u);
  Trainer rest = resumed(2, 1);
  EXPECT_EQ(rest.steps_done(), 3);
  while (rest.steps_done() < 6) rest.step();
  EXPECT_EQ(lasting_state(rest), lasting_state(whole));
}

TEST_F(ShardedCheckpoint, IsAModelsFolder) {
  trained_with(kSmallShards);
  TrainOptions options = small_training(small_model(1), 1);
  options.settings.weights_path = weights_of_model(path("run"));
  EXPECT_EQ(options.settings.weights_path, path("run/model.safetensors.index.json"));
  EXPECT_THAT(fit_to_weights(options.settings), ::testing::IsEmpty());
  EXPECT_NO_THROW(small_trainer(options).step());
}

// Both ways: of two forms side by side a reader could take the older.
TEST_F(ShardedCheckpoint, LeavesNoFileOfAnotherForm) {
  trained_with(kShardBytes, 1);
  EXPECT_THAT(files("model"), ::testing::ElementsAre("model.safetensors"));
  write("run/notes.txt", "mine");
  trained_with(kSmallShards, 2);
  EXPECT_THAT(files("model"), ::testing::Not(::testing::Contains("model.safetensors")));
  EXPECT_THAT(files("optimizer"), ::testing::Not(::testing::Contains("optimizer.safetensors")));
  const size_t many = files("model").size();
  trained_with(40'000, 3);
  EXPECT_LT(files("model").size(), many);
  EXPECT_EQ(resumed(2, 1).steps_done(), 3);
  trained_with(kShardBytes, 4);
  EXPECT_THAT(files("model"), ::testing::ElementsAre("model.safetensors"));
  EXPECT_THAT(files("optimizer"), ::testing::ElementsAre("optimizer.safetensors"));
  EXPECT_EQ(contents("run/notes.txt"), "mine");
  EXPECT_EQ(resumed(2, 1).steps_done(), 4);
}

TEST_F(ShardedCheckpoint, EveryFileIsCheckedBeforeItIsRead) {
  trained_with(kSmallShards);
  const auto flip = [](std::string& bytes) { bytes[bytes.size() - 3] ^= 1; };
  for (const char* begin : {"model", "optimizer"}) {
    for (const std::string& file : files(begin)) {
      if (file.ends_with(".json")) continue;
      change(file, flip);
      EXPECT_THAT(resume_error(), HasSubstr("run/" + file + " is damaged"));
      change(file, flip);
    }
    const std::string index = std::string(begin) + ".safetensors.index.json";
    change(index, [](std::string& text) { text += " "; });
    EXPECT_THAT(resume_error(), HasSubstr("run/" + index + " is damaged"));
    change(index, [](std::string& text) { text.pop_back(); });
    EXPECT_EQ(resume_error(), "no error");
    fs::rename(path("run/" + files(begin).front()), path("kept"));
    EXPECT_THAT(resume_error(), HasSubstr(" is missing"));
    fs::rename(path("kept"), path("run/" + std::string(begin) + "-00001-of-" +
                                  files(begin).front().substr(files(begin).front().find("-of-") + 4)));
  }
}

TEST_F(CheckpointTest, NanInTheOptimizersStateIsNamedWithItsFile) {
  trained(small_model(1), 2);
  const SafetensorsFile moments(path("run/optimizer.safetensors"));
  const StoredTensor& last = moments.tensors().back();
  change("optimizer.safetensors", [&](std::string& bytes) {
    const float nan = NAN;
    std::memcpy(bytes.data() + last.offset, &nan, sizeof nan);
  });
  change("training.json", [&](std::string& text) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
    json.erase("checksums");
    text = json.dump();
  });
  EXPECT_THAT(resume_error(), HasSubstr(path("run/optimizer.safetensors") + ", tensor " + last.name +
                                        " holds NaN at element 0"));
}

// transformers adds the decoder's bias if the output matrix is not tied, and asks for the other one too.
TEST_F(CheckpointTest, AnUntiedBertStoresItsBiasUnderBothNames) {
  Settings settings = small_bert(2);
  settings.model.tied = false;
  trained(settings, 2);
  const SafetensorsFile weights(path("run/model.safetensors"));
  std::vector<float> bias(53), decoders(53);
  weights.read(weights.require("cls.predictions.bias", {53}), DType::Fp32, bias.data());
  weights.read(weights.require("cls.predictions.decoder.bias", {53}), DType::Fp32, decoders.data());
  EXPECT_EQ(bias, decoders);
  settings.weights_path = path("run/model.safetensors");
  EXPECT_THAT(fit_to_weights(settings), ::testing::IsEmpty());
  EXPECT_EQ(resumed(2, 1).steps_done(), 2);
}

TEST_F(CheckpointTest, AnotherTextOrTokenizerIsRefused) {
  struct OtherTokenizer : BytesTokenizer {
    std::string name() const override { return "other"; }
    uint64_t fingerprint() const override { return 7; }
  };
  TrainOptions options = small_training(small_model(1), 6);
  options.settings.model.vocab = 257;
  options.checkpoint = path("run");
  options.text = {"book.txt", 1000, std::make_shared<BytesTokenizer>()};
  small_trainer(options).save();
  options = resume_options(path("run"));
  options.text = {"book.txt", 1000, std::make_shared<BytesTokenizer>()};
  EXPECT_NO_THROW(small_trainer(options));
  options.text.hash = ~uint64_t{0};
  small_trainer(options).save();  // the one before, as of an older version, knows no hash
  EXPECT_NO_THROW(small_trainer(options));
  options.text.hash = 7;
  EXPECT_THAT(error_of([&] { small_trainer(options); }),
              AllOf(HasSubstr("1,000 tokens"), HasSubstr("as many, but other ones"),
                    HasSubstr("Resume with the text of the first run")));
  options.text.tokens = 999;
  EXPECT_THAT(error_of([&] { small_trainer(options); }), AllOf(HasSubstr("1,000 tokens"), HasSubstr("999")));
  options.text.tokenizer = std::make_shared<OtherTokenizer>();
  EXPECT_THAT(error_of([&] { small_trainer(options); }), AllOf(HasSubstr("bytes"), HasSubstr("other")));
  EXPECT_TRUE(fs::exists(path("run/tokenizer.json")));
  EXPECT_EQ(nlohmann::json::parse(contents("run/config.json"))["eos_token_id"], 256);
}

}  // namespace checkpoint_test
}  // namespace shardlens
