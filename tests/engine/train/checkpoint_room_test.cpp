// A disk without room for the checkpoints is found before the first step.
#include "engine/train/checkpoint_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/base/error.h"
#include "engine/io/safetensors.h"
#include "engine/train/checkpoint.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/train/small_training.h"

namespace shardlens {
namespace checkpoint_room_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::small_bert;
using testing::small_model;
using testing::small_trainer;
using testing::small_training;

using CheckpointRoom = TestFolder;

TEST_F(CheckpointRoom, TheBytesAreThoseThatAreWritten) {
  int runs = 0;
  for (const Settings& settings : {small_model(1, 1), small_model(2, 1), small_bert(2, 1)}) {
    TrainOptions options = small_training(settings, 6);
    options.checkpoint = path("run" + std::to_string(runs++));
    Trainer trainer = small_trainer(options);
    trainer.step();
    trainer.save();
    int64_t written = 0, headers = 0;
    for (const char* file : {"/model.safetensors", "/optimizer.safetensors"}) {
      written += static_cast<int64_t>(std::filesystem::file_size(options.checkpoint + file));
      std::ifstream in(options.checkpoint + file, std::ios::binary);
      int64_t header = 0;
      in.read(reinterpret_cast<char*>(&header), sizeof header);
      headers += header + 8;
    }
    EXPECT_EQ(checkpoint_bytes(trainer.plan().program), written - headers) << runs;
  }
}

TEST_F(CheckpointRoom, ADiskThatIsTooSmallIsRefused) {
  constexpr int64_t kTooMany = std::numeric_limits<int64_t>::max();
  for (const std::string& folder : {path("run"), path("not/there/yet")}) {
    EXPECT_EQ(error_of([&] { require_room(folder, 1, "the checkpoint"); }), "no error");
    EXPECT_THAT(
        error_of([&] { require_room(folder, kTooMany, "the checkpoint"); }),
        AllOf(HasSubstr("the checkpoint in " + folder + " would take 8.00 EiB, but its disk has only "),
              HasSubstr("on another disk")));
  }
}

}  // namespace checkpoint_room_test
}  // namespace shardlens
