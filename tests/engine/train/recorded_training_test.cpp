// A recorded training: each step with its validation, and every n-th one traced.
#include "engine/train/recorded_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "tests/engine/io/test_folder.h"
#include "tests/engine/train/small_training.h"

namespace shardlens {
namespace recorded_training_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::small_model;
using testing::small_trainer;
using testing::small_training;

class RecordedTrainingTest : public TestFolder {
 protected:
  struct Watcher : TrainObserver {
    void on_step(const StepReport&) override { ++steps; }
    void on_validation(const ValidationReport&) override { ++validations; }
    void on_saved(const std::string&, int64_t) override {}
    void on_save_failed(const std::string&) override {}
    int steps = 0, validations = 0;
  };

  Recording recorded(int64_t steps, int64_t trace_every, int64_t validate_every) {
    TrainOptions options = small_training(small_model(2), steps);
    options.validate_every = validate_every;
    Trainer trainer = small_trainer(options);
    const std::string file = path(std::to_string(trace_every) + std::to_string(validate_every));
    Recorder recorder(file, "train", trainer.plan(), trainer.executor().communicator());
    RecordedTraining training(watcher_, trainer, &recorder, validate_every, trace_every);
    const std::atomic<bool> never_stop{false};
    trainer.run(training, never_stop);
    recorder.finish();
    return Recording(file);
  }

  Watcher watcher_;
};

TEST_F(RecordedTrainingTest, EverySecondStepIsTraced) {
  const Recording recording = recorded(5, 2, 3);
  EXPECT_EQ(watcher_.steps, 5);
  EXPECT_EQ(watcher_.validations, 1);
  ASSERT_EQ(recording.passes(), 5);
  EXPECT_THAT(recording.untraced_passes(), ElementsAre(1, 3));
  for (int64_t index = 0; index < 5; ++index) {
    const RecordedPass pass = recording.pass(index);
    EXPECT_EQ(pass.events[0].empty(), index % 2 == 1) << index;
    EXPECT_GT(recording.pass_time(index).seconds, 0) << index;
    const auto has = [&](const std::string& name) {
      return std::ranges::any_of(pass.metrics, [&](const Metric& metric) { return metric.first == name; });
    };
    EXPECT_TRUE(has("loss")) << index;
    EXPECT_EQ(has("validation_loss"), index == 2) << "the third step is followed by a validation";
  }
}

TEST_F(RecordedTrainingTest, OrEveryOne) {
  const Recording recording = recorded(3, 1, 0);
  EXPECT_EQ(recording.passes(), 3);
  EXPECT_THAT(recording.untraced_passes(), IsEmpty());
}

TEST_F(RecordedTrainingTest, OnGpusEverySecondStepIsTracedUnlessRanksAreLateOnPurpose) {
  Settings settings = small_model(2);
  EXPECT_EQ(trace_every(settings), 1);
  settings.backend = BackendChoice::Cuda;
  EXPECT_EQ(trace_every(settings), 2);
  settings.delays = {{1, "h.0.mlp.fc", 5}};
  EXPECT_EQ(trace_every(settings), 1);
}

}  // namespace recorded_training_test
}  // namespace shardlens
