// Training in 16 bits: the curve equals fp32's within rounding, small updates are not lost, a step that
// overflows is skipped by all ranks and counted, and the run then continues with the right bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "engine/io/half.h"
#include "engine/train/trainer.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/train/planted_overflow.h"
#include "tests/engine/train/small_training.h"

namespace shardlens {
namespace half_training_test {

using ::testing::AllOf;
using testing::cut_gradient;
using ::testing::HasSubstr;
using testing::lasting_state;
using testing::PlantedOverflow;
using testing::small_bert;
using testing::small_model;
using testing::small_trainer;
using testing::small_training;

using HalfTraining = TestFolder;

Settings in(DType dtype, Settings settings) {
  settings.dtype = dtype;
  return settings;
}

/// Steps whose numbers are those of `passes` overflow on rank 1, or on the second replica where there is one.
void plant(Trainer& trainer, std::set<int> passes = {}) {
  const Settings& settings = trainer.options().settings;
  trainer.observe({std::make_shared<PlantedOverflow>(cut_gradient(settings.dp), settings.tp > 1 ? 1 : 0,
                                                     settings.dp - 1, std::move(passes))});
}

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// The root mean square of the logits of rank 0 in the last pass: what their roundings are relative to.
class LogitsSize : public StepObserver {
 public:
  explicit LogitsSize(int ranks) : ranks_(ranks) {}
  void on_tensor(int rank, StepId, const Tensor& tensor, const void* data) override {
    if (rank != 0 || tensor.name != "logits") return;
    const auto* values = static_cast<const float*>(data);
    const int64_t count = element_count(local_shape(tensor, ranks_, rank));
    const double squares = std::inner_product(values, values + count, values, 0.0);
    rms_ = std::sqrt(squares / static_cast<double>(count));
  }
  double rms() const { return rms_; }

 private:
  int ranks_;
  double rms_ = 0;
};

// Every stored tensor is rounded to relative u, 2^-8 in bf16 and 2^-11 in fp16; 34 such roundings lie on the
// way to the logits of two layers and 68 on the way to a gradient (tests/app/golden_test.cpp). They are
// independent, so their size grows with the square root of their number. A token's loss is a difference of
// logits, so it is off by sqrt(2) sqrt(34) u rms(logits), and the mean over n tokens by a root of n less.
// Adam moves every parameter by about the rate whatever the gradient's size, so each step leaves it off by
// sqrt(68) u rate, which changes a loss by that times the gradient's norm. The bound is four times all that.
TEST_F(HalfTraining, TheCurveIsThatOfFp32WithinItsRoundings) {
  constexpr int kSteps = 25;
  for (const Settings& settings : {small_model(2), small_bert(1, 2)}) {
    TrainOptions options = small_training(settings, kSteps);
    options.schedule = {1e-3, 0, 3, kSteps, Decay::Cosine};
    const bool bert = settings.model.objective == Objective::MaskedWords;
    // One word in four is asked for, of the first replica's rows; a BERT's loss is that of two tasks.
    const double tokens = static_cast<double>(settings.batch * settings.seq) / (bert ? 4 : 1);
    for (const auto& [dtype, u] : {std::pair{DType::Bf16, 0x1p-8}, {DType::Fp16, 0x1p-11}}) {
      Trainer wide = small_trainer(options);
      const auto logits = std::make_shared<LogitsSize>(settings.tp);
      wide.observe({logits});
      TrainOptions half = options;
      half.settings.dtype = dtype;
      Trainer narrow = small_trainer(half);
      double astray = 0, largest = 0;
      for (int i = 0; i < kSteps; ++i) {
        const StepReport expected = wide.step(), report = narrow.step();
        EXPECT_FALSE(report.skipped);
        const double rounded = std::sqrt(2 * 34 / tokens) * u * logits->rms();
        const double bound = 4 * (rounded + expected.gradient_norm * astray);
        EXPECT_NEAR(report.loss, expected.loss, bound) << to_string(dtype) << ", step " << report.step;
        largest = std::max(largest, std::abs(report.loss - expected.loss) / bound);
        astray += std::sqrt(68) * u * expected.learning_rate;
      }
      RecordProperty(to_string(dtype) + (bert ? "_bert" : "_gpt") + "_of_bound", std::to_string(largest));
    }
  }
}

// At a rate of 1e-6 an update is far below the distance of two bf16 numbers: only the fp32 masters move.
TEST_F(HalfTraining, SmallUpdatesAreNotLost) {
  TrainOptions options = small_training(in(DType::Bf16, small_model(2)), 20);
  options.schedule = {1e-6, 1e-6, 0, 20, Decay::Constant};
  Trainer trainer = small_trainer(options);
  const auto before = lasting_state(trainer);
  for (int i = 0; i < 20; ++i) trainer.step();
  const auto after = lasting_state(trainer);
  const std::string weight = "transformer.h.0.mlp.c_fc.weight";
  const std::vector<float> old = floats_of(before.at("master." + weight)),
                           now = floats_of(after.at("master." + weight));
  double moved = 0;
  for (size_t i = 0; i < now.size(); ++i) moved = std::max(moved, std::abs(double{now[i]} - double{old[i]}));
  EXPECT_GT(moved, 1e-5);
  std::vector<std::byte> rounded(now.size() * 2);
  narrow(DType::Bf16, now.data(), static_cast<int64_t>(now.size()), rounded.data());
  EXPECT_EQ(after.at(weight), rounded) << "what computes is the master, rounded";
}

TEST_F(HalfTraining, AnOverflowOnOneRankSkipsTheStepOnAll) {
  for (const auto& [tp, dp] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
    Trainer trainer = small_trainer(small_training(in(DType::Fp16, small_model(tp, dp)), 6));
    plant(trainer, {2});
    trainer.step();
    const auto before = lasting_state(trainer);
    const StepReport skipped = trainer.step();
    EXPECT_TRUE(skipped.skipped) << "T = " << tp << ", D = " << dp;
    EXPECT_EQ(skipped.step, 2);
    EXPECT_TRUE(lasting_state(trainer) == before);
    const StepReport next = trainer.step();
    EXPECT_FALSE(next.skipped);
    EXPECT_EQ(next.loss_scale, skipped.loss_scale / 2);
    EXPECT_EQ(next.learning_rate, trainer.options().schedule.rate(3)) << "the schedule goes on";
    EXPECT_FALSE(lasting_state(trainer) == before);
    EXPECT_EQ(trainer.steps_done(), 3);
    EXPECT_EQ(trainer.updates(), 2);
    // All ranks hold the same of what is whole everywhere.
    const Program& program = trainer.plan().program;
    for (const TensorId id : lasting_tensors(program)) {
      const Tensor& tensor = program.tensor(id);
      if (tensor.layout.kind != LayoutKind::Replicated) continue;
      std::vector<std::byte> first(static_cast<size_t>(tensor.bytes())), other(first.size());
      trainer.executor().read_tensor(0, id, first.data());
      for (int rank = 1; rank < tp * dp; ++rank) {
        trainer.executor().read_tensor(rank, id, other.data());
        EXPECT_TRUE(first == other) << tensor.name << " on rank " << rank;
      }
    }
  }
}

// Adam's first update moves every parameter by the rate, whatever its gradient; a second one does not.
TEST_F(HalfTraining, ASkippedStepIsNoUpdateOfAdam) {
  TrainOptions options = small_training(in(DType::Fp16, small_model(2)), 6);
  options.schedule = {1e-3, 1e-3, 0, 6, Decay::Constant};
  options.settings.optimizer.weight_decay = 0;
  Trainer trainer = small_trainer(options);
  plant(trainer, {1});
  const std::string master = "master.transformer.h.0.mlp.c_fc.weight";
  EXPECT_TRUE(trainer.step().skipped);
  const std::vector<float> before = floats_of(lasting_state(trainer).at(master));
  EXPECT_FALSE(trainer.step().skipped);
  const std::vector<float> after = floats_of(lasting_state(trainer).at(master));
  double largest = 0;
  for (size_t i = 0; i < after.size(); ++i)
    largest = std::max(largest, std::abs(double{after[i]} - double{before[i]}));
  EXPECT_NEAR(largest, 1e-3, 1e-5);
}

TEST_F(HalfTraining, AResumedRunAfterASkipIsBitForBitTheRunThatWasNotInterrupted) {
  for (const Settings& settings : {in(DType::Fp16, small_model(2, 2)), in(DType::Fp16, small_model(3)),
                                   in(DType::Bf16, small_model(2)), in(DType::Fp16, small_bert(2))}) {
    const bool scaled = settings.dtype == DType::Fp16;
    const bool bert = settings.model.objective == Objective::MaskedWords;
    TrainOptions options = small_training(settings, 6);
    const auto overflow = [&](Trainer& trainer, int pass) {
      if (scaled && !bert) plant(trainer, {pass});
    };
    options.first_loss_scale = 1024;
    Trainer whole = small_trainer(options);
    overflow(whole, 2);
    std::vector<StepReport> expected;
    for (int i = 0; i < 6; ++i) expected.push_back(whole.step());
    options.checkpoint = path("run");
    {
      Trainer first = small_trainer(options);
      overflow(first, 2);
      for (int i = 0; i < 3; ++i) first.step();
      first.save();
    }
    Trainer rest = small_trainer(resume_options(path("run")));
    ASSERT_EQ(rest.steps_done(), 3);
    EXPECT_EQ(rest.updates(), scaled && !bert ? 2 : 3);
    for (size_t i = 3; i < 6; ++i) {
      const StepReport report = rest.step();
      EXPECT_EQ(report.loss, expected[i].loss) << "step " << i + 1;
      EXPECT_EQ(report.loss_scale, expected[i].loss_scale);
    }
    EXPECT_TRUE(lasting_state(rest) == lasting_state(whole));
    std::filesystem::remove_all(path("run"));
  }
}

// The scale's own count goes on too: doubled at the same step as without the interruption.
TEST_F(HalfTraining, TheLossScaleGoesOnFromItsWholeState) {
  TrainOptions options = small_training(in(DType::Fp16, small_model(2)), 9);
  options.checkpoint = path("run");
  options.first_loss_scale = 512;
  {
    Trainer trainer = small_trainer(options);
    plant(trainer, {1});
    for (int i = 0; i < 3; ++i) trainer.step();
    trainer.save();
  }
  const TrainingState state = read_training_state(path("run"));
  EXPECT_EQ(state.step, 3);
  EXPECT_EQ(state.iteration, 2);
  EXPECT_EQ(state.loss_scale, 256);
  EXPECT_EQ(state.scale_good_steps, 2);
  Trainer rest = small_trainer(resume_options(path("run")));
  rest.step();
  rest.save();
  EXPECT_EQ(read_training_state(path("run")).scale_good_steps, 3);
}

TEST_F(HalfTraining, ARunGoesOnAtAnotherTOrD) {
  TrainOptions options = small_training(in(DType::Fp16, small_model(2)), 6);
  options.checkpoint = path("run");
  std::vector<double> expected;
  {
    Trainer trainer = small_trainer(options);
    plant(trainer, {2});
    for (int i = 0; i < 3; ++i) trainer.step();
    trainer.save();
    for (int i = 0; i < 3; ++i) expected.push_back(trainer.step().loss);
  }
  for (const auto& [tp, dp] : {std::pair{1, 1}, {3, 1}, {1, 2}, {2, 2}}) {
    TrainOptions other = resume_options(path("run"));
    other.settings.tp = tp;
    other.settings.dp = dp;
    Trainer rest = small_trainer(other);
    for (const double loss : expected)
      EXPECT_NEAR(rest.step().loss, loss, std::sqrt(34) * 0x1p-11 * loss) << "T = " << tp << ", D = " << dp;
  }
}

TEST_F(HalfTraining, OnlyAnOverflowAtTheLowestScaleStopsTheRun) {
  TrainOptions options = small_training(in(DType::Fp16, small_model(2)), 9);
  options.first_loss_scale = 4;
  options.checkpoint = path("run");
  options.checkpoint_every = 1;
  Trainer trainer = small_trainer(options);
  plant(trainer);
  testing::Told told;
  const std::atomic<bool> never{false};
  EXPECT_THAT(error_of([&] { trainer.run(told, never); }),
              AllOf(HasSubstr("training stopped at step 3"), HasSubstr("at loss scale 1"),
                    HasSubstr("began here: rank 1"), HasSubstr(cut_gradient(1)),
                    HasSubstr("of step 2, is in " + path("run"))));
  ASSERT_EQ(told.steps.size(), 2u);
  EXPECT_TRUE(told.steps[0].skipped && told.steps[1].skipped);
}

TEST_F(HalfTraining, Bf16HasNoLossScaleAndStopsAtOnce) {
  Trainer trainer = small_trainer(small_training(in(DType::Bf16, small_model(2, 2)), 9));
  plant(trainer, {2, 3});
  EXPECT_EQ(trainer.step().loss_scale, 1);
  EXPECT_THAT(error_of([&] { trainer.step(); }),
              AllOf(HasSubstr("training stopped at step 2"), HasSubstr(cut_gradient(2))));
}

TEST_F(HalfTraining, ValidatesAndLearns) {
  for (const DType dtype : {DType::Bf16, DType::Fp16}) {
    TrainOptions options = small_training(in(dtype, small_model(2)), 200);
    options.schedule = {1e-2, 0, 10, 200, Decay::Cosine};
    Trainer trainer = small_trainer(options);
    const double before = trainer.validate().loss;
    for (int i = 0; i < 200; ++i) trainer.step();
    EXPECT_LT(trainer.validate().loss, before - 2) << to_string(dtype);
  }
}

}  // namespace half_training_test
}  // namespace shardlens
