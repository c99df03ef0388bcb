// The training loop: it learns, gives the same curve for every T and D, and stops cleanly.
#include "engine/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "engine/train/model_state.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/train/small_training.h"

namespace shardlens {
namespace trainer_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::small_bert;
using testing::small_model;
using testing::small_trainer;
using testing::small_training;

using TrainerTest = TestFolder;
const std::atomic<bool> kNeverStop{false};

Settings in_fp64(Settings settings) {
  settings.dtype = DType::Fp64;
  return settings;
}

std::vector<double> losses(Trainer& trainer, int64_t steps) {
  std::vector<double> losses;
  while (steps-- > 0) losses.push_back(trainer.step().loss);
  return losses;
}

TEST_F(TrainerTest, LearnsToCount) {
  TrainOptions options = small_training(small_model(2), 300);
  options.schedule = {1e-2, 0, 10, 300, Decay::Cosine};
  Trainer trainer = small_trainer(options);
  const std::vector<double> curve = losses(trainer, 300);
  EXPECT_NEAR(curve.front(), std::log(53.0), 0.1);  // knows nothing
  EXPECT_LT(curve.back(), 1.0);
}

TEST_F(TrainerTest, TheCurveDoesNotDependOnTAndD) {
  Trainer serial = small_trainer(small_training(in_fp64(small_model(1)), 8));
  const std::vector<double> expected = losses(serial, 8);
  for (const auto& [tp, dp] : {std::pair{2, 1}, {3, 1}, {5, 1}, {1, 2}, {2, 2}}) {
    Trainer sharded = small_trainer(small_training(in_fp64(small_model(tp, dp)), 8));
    const std::vector<double> curve = losses(sharded, 8);
    for (size_t i = 0; i < curve.size(); ++i)
      EXPECT_NEAR(curve[i], expected[i], 1e-11) << "T = " << tp << ", D = " << dp << ", step " << i + 1;
  }
}

// BERT's loss is told apart, whatever T, D and the parts of the batch.
TEST_F(TrainerTest, ReportsTheTwoTermsOfBertsLoss) {
  const auto first_step = [](int tp, int dp, int parts) {
    Settings settings = in_fp64(testing::small_bert(tp, dp));
    settings.micro_batches = parts;
    Trainer trainer = small_trainer(small_training(settings, 8));
    const ValidationReport validation = trainer.validate();
    EXPECT_NEAR(validation.parts->words + validation.parts->sentences, validation.loss, 1e-12);
    return trainer.step();
  };
  const StepReport serial = first_step(1, 1, 1);
  EXPECT_NEAR(serial.parts->words, std::log(53.0), 0.2);
  EXPECT_NEAR(serial.parts->sentences, std::log(2.0), 0.1);
  for (const auto& [tp, dp, parts] : {std::tuple{1, 1, 1}, {3, 1, 1}, {2, 2, 1}, {1, 1, 4}, {2, 2, 2}}) {
    const StepReport report = first_step(tp, dp, parts);
    EXPECT_NEAR(report.parts->words, serial.parts->words, 1e-12) << tp << dp << parts;
    EXPECT_NEAR(report.parts->sentences, serial.parts->sentences, 1e-12) << tp << dp << parts;
    EXPECT_NEAR(report.parts->words + report.parts->sentences, report.loss, 1e-12) << tp << dp << parts;
  }
  Trainer gpt = small_trainer(small_training(small_model(1), 8));
  EXPECT_FALSE(gpt.step().parts);
}

TEST_F(TrainerTest, ReportsRateAndPace) {
  Trainer trainer = small_trainer(small_training(small_model(2), 8));
  const StepReport first = trainer.step();
  EXPECT_EQ(first.step, 1);
  EXPECT_DOUBLE_EQ(first.learning_rate, 1e-3);  // a third of the way up
  EXPECT_GT(first.gradient_norm, 0);
  EXPECT_NEAR(first.tokens_per_second * first.seconds, 44, 1e-6);
  EXPECT_GT(first.flops_per_second, 0);
  EXPECT_NEAR(first.seconds_left, 7 * first.seconds, 1e-9);
  EXPECT_EQ(first.of_ceiling, 0);  // not measured
  trainer.measure_ceiling();
  const StepReport second = trainer.step();
  EXPECT_DOUBLE_EQ(second.of_ceiling, second.flops_per_second / trainer.ceiling_flops());
}

// A ceiling measured on a busy machine is found out by the first step that is faster.
TEST_F(TrainerTest, NoStepIsFasterThanTheCeiling) {
  Trainer trainer = small_trainer(small_training(small_model(2), 4));
  trainer.hold_against(1.0);
  const StepReport report = trainer.step();
  EXPECT_LE(report.of_ceiling, 1);
  EXPECT_GE(report.ceiling_flops, report.flops_per_second);
  const double raised = trainer.ceiling_flops();
  trainer.hold_against(1.0);
  EXPECT_EQ(trainer.ceiling_flops(), raised) << "it is never lowered";
}

// Validation is a pass of its own: the run goes on bit by bit as without it, whatever the dropout.
TEST_F(TrainerTest, ValidationLeavesTheRunAsItIs) {
  TrainOptions options = small_training(small_model(2, 2), 6);
  Trainer without = small_trainer(options);
  const std::vector<double> expected = losses(without, 6);
  options.validate_every = 2;
  testing::Told told;
  Trainer with = small_trainer(options);
  with.run(told, kNeverStop);
  ASSERT_EQ(told.steps.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(told.steps[i].loss, expected[i]);
  ASSERT_EQ(told.validations.size(), 3u);
  EXPECT_EQ(told.validations[1].step, 4);
}

// What validation says is what a training step would have said of the same rows and weights.
TEST_F(TrainerTest, ValidationIsTheLossOfItsRows) {
  TrainOptions options = small_training(in_fp64(small_model(2)), 4);
  options.validation_rows = options.settings.batch;
  Trainer trainer = small_trainer(options);
  const double before = trainer.validate().loss;  // rows of batch 0, fresh weights
  EXPECT_NEAR(trainer.step().loss, before, 1e-14);
  EXPECT_LT(trainer.validate().loss, before);  // sees the weights of now
}

/// Rows of which each asks for another number of tokens.
class UnevenRows : public BatchSource {
 public:
  explicit UnevenRows(const Settings& settings) : settings_(settings) {}
  Batch batch(int64_t step) const override { return rows(step * settings_.batch, settings_.batch); }
  Batch rows(int64_t first, int64_t count) const override {
    Batch batch;
    for (int64_t row = first; row < first + count; ++row) {
      for (int64_t i = 0; i < settings_.seq; ++i) {
        batch.tokens.push_back(static_cast<int32_t>((row * 31 + i * 7) % settings_.model.vocab));
        batch.labels.push_back(i <= row % settings_.seq ? batch.tokens.back() : kIgnoredLabel);
      }
      if (settings_.model.objective == Objective::MaskedWords)
        batch.sentence_labels.push_back(static_cast<int32_t>(row % 2));
    }
    return batch;
  }
  int64_t row_count() const override { return 10; }

 private:
  Settings settings_;
};

// A mean over all rows: not one of means over batches, in which a token of a short row would count more.
TEST_F(TrainerTest, ValidationIsTheSameForEveryBatchTAndD) {
  for (const auto& model : {small_model, small_bert}) {
    std::optional<double> expected;
    for (const auto& [batch, tp, dp, parts] :
         {std::tuple{1, 1, 1, 1}, {2, 2, 1, 1}, {4, 1, 2, 2}, {4, 2, 2, 1}, {16, 1, 1, 2}}) {
      Settings settings = in_fp64(model(tp, dp, "megatron"));
      settings.batch = batch;
      settings.micro_batches = parts;
      TrainOptions options = small_training(settings, 1);
      options.validation_rows = 7;
      const auto rows = std::make_shared<UnevenRows>(settings);
      const ValidationReport report = Trainer(options, rows, rows).validate();
      if (!expected) expected = report.loss;
      EXPECT_NEAR(report.loss, *expected, 1e-12) << "batch " << batch << ", T = " << tp << ", D = " << dp;
      EXPECT_EQ(report.tokens, 1 + 2 + 3 + 4 + 5 + 6 + 7);
      EXPECT_EQ(rows_text(report), "7 of 10 rows");
      options.validation_rows = 0;
      EXPECT_EQ(rows_text(Trainer(options, rows, rows).validate()), "all 10 rows");
    }
  }
}

TEST_F(TrainerTest, StopsBetweenStepsWhenAsked) {
  struct StopAfterTwo : testing::Told {
    std::atomic<bool> stop{false};
    void on_step(const StepReport& report) override {
      Told::on_step(report);
      stop = report.step == 2;
    }
  } told;
  TrainOptions options = small_training(small_model(1), 10);
  options.checkpoint = path("run");
  Trainer trainer = small_trainer(options);
  trainer.run(told, told.stop);
  EXPECT_EQ(told.steps.size(), 2u);
  EXPECT_THAT(told.saved, ::testing::ElementsAre(2));
  EXPECT_EQ(read_training_state(path("run")).step, 2);
}

// A rate beyond all measure blows the weights up: the next pass overflows.
TEST_F(TrainerTest, ALossThatIsNoNumberStopsTheRunAndKeepsTheCheckpoint) {
  TrainOptions options = small_training(small_model(2), 10);
  options.schedule = {1e30, 1e30, 0, 10, Decay::Constant};
  options.checkpoint = path("run");
  options.checkpoint_every = 1;
  Trainer trainer = small_trainer(options);
  testing::Told told;
  std::string message;
  try {
    trainer.run(told, kNeverStop);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Run);
    message = error.what();
  }
  EXPECT_THAT(message, AllOf(HasSubstr("training stopped at step 2"), HasSubstr("began here: rank"),
                             HasSubstr("tensor "), HasSubstr("of step 1, is in " + path("run"))));
  const TrainingState state = read_training_state(path("run"));
  EXPECT_EQ(state.step, 1);
  EXPECT_NO_THROW(checkpoint_weights(path("run"), state));
}

TEST_F(TrainerTest, RefusesWhatCannotBeTrained) {
  TrainOptions options = small_training(small_model(2), 10);
  options.schedule.peak = -1;
  EXPECT_THAT(error_of([&] { small_trainer(options); }), HasSubstr("learning rate"));
  options = small_training(small_model(2), 10);
  options.first_loss_scale = 1000;
  EXPECT_THAT(error_of([&] { small_trainer(options); }), HasSubstr("power of two"));
  options = small_training(small_model(2), 10);
  options.settings.seq = 17;  // 16 positions
  EXPECT_THAT(error_of([&] { small_trainer(options); }), HasSubstr("positions"));
  Trainer no_text(small_training(small_model(1), 1),
                  std::make_shared<testing::CountingBatches>(small_model(1)), nullptr);
  EXPECT_THAT(error_of([&] { no_text.validate(); }), HasSubstr("validation text"));
}

}  // namespace trainer_test
}  // namespace shardlens
