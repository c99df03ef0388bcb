// A training read back from a recording's metrics: its curve, with the training's own step numbers, and its
// layers' gradients if they are recorded.
#include "ui/panels/train/replayed_training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/runtime/plan.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/train/step_metrics.h"
#include "engine/train/train_snapshot.h"
#include "tests/engine/small_model.h"

namespace shardlens::ui {
namespace replayed_training_test {

ReplaySnapshot replay_of(const std::vector<std::pair<std::string, std::vector<double>>>& columns) {
  Settings settings = shardlens::testing::small_model(2);
  settings.update = true;
  auto facts = std::make_shared<RecordingFacts>();
  facts->plan = make_plan(settings);
  auto metrics = std::make_shared<MetricTable>();
  for (const auto& [name, values] : columns) {
    metrics->names.push_back(name);
    metrics->values.push_back(values);
  }
  facts->passes = static_cast<int64_t>(metrics->rows());
  ReplaySnapshot replay;
  replay.recording = facts;
  replay.metrics = metrics;
  return replay;
}

TEST(ReplayedTraining, ShowsTheGradientsOfEachLayerInTheModelsOrder) {
  // In a file names lie in the order of the alphabet.
  const auto training = replayed_training(replay_of({{gradient_norm_metric("embedding"), {1, 2}},
                                                     {gradient_norm_metric("head"), {3, 4}},
                                                     {gradient_norm_metric("layer 0"), {5, 6}},
                                                     {gradient_norm_metric("layer 1"), {7, 8}},
                                                     {"loss", {0.5, 0.25}}}));
  ASSERT_EQ(training->curves.size(), 1u);
  const TrainCurve& curve = *training->curves.front();
  EXPECT_EQ(curve.groups, (std::vector<std::string>{"embedding", "layer 0", "layer 1", "head"}));
  ASSERT_EQ(curve.steps.size(), 2u);
  EXPECT_EQ(curve.steps[1]->report.loss, 0.25);
  EXPECT_EQ(curve.steps[0]->gradient_norms, (std::vector<double>{1, 5, 7, 3}));
  EXPECT_EQ(curve.steps[1]->gradient_norms, (std::vector<double>{2, 6, 8, 4}));
}

TEST(ReplayedTraining, ShowsTheValidationsAndTheTextsEntropy) {
  const double nan = std::nan("");
  const auto training = replayed_training(replay_of({{"loss", {4, 3, 2}},
                                                     {"step", {101, 102, 103}},
                                                     {"word_loss", {3.5, 2.5, 1.5}},
                                                     {"order_loss", {0.5, 0.5, 0.5}},
                                                     {"validation_loss", {nan, 3.25, nan}},
                                                     {"validation_word_loss", {nan, 2.75, nan}},
                                                     {"validation_order_loss", {nan, 0.5, nan}},
                                                     {"validation_rows", {nan, 7, nan}},
                                                     {"validation_rows_of_text", {nan, 3000, nan}},
                                                     {kUnigramEntropyMetric, {3.02, 3.02, 3.02}}}));
  ASSERT_EQ(training->curves.size(), 1u);
  const TrainCurve& curve = *training->curves.front();
  ASSERT_EQ(curve.validations.size(), 1u);
  EXPECT_EQ(curve.validations[0].step, 102);
  EXPECT_EQ(curve.validations[0].loss, 3.25);
  EXPECT_EQ(rows_text(curve.validations[0]), "7 of 3,000 rows");
  ASSERT_TRUE(curve.validations[0].parts);
  EXPECT_EQ(curve.validations[0].parts->words, 2.75);
  ASSERT_TRUE(curve.steps[2]->report.parts);
  EXPECT_EQ(curve.steps[2]->report.parts->words, 1.5);
  EXPECT_EQ(training->text.unigram_entropy_nats, 3.02);
  const auto plain = replayed_training(replay_of({{"loss", {4, 3, 2}}}));
  EXPECT_TRUE(plain->curves.front()->validations.empty());
  EXPECT_FALSE(plain->curves.front()->steps[0]->report.parts);
  EXPECT_EQ(plain->text.unigram_entropy_nats, 0);
}

std::vector<int64_t> numbers(const TrainCurve& curve) {
  std::vector<int64_t> numbers;
  for (const auto& step : curve.steps) numbers.push_back(step->report.step);
  return numbers;
}

TEST(ReplayedTraining, CountsStepsAsTheTrainingDid) {
  // Begun in the middle, with a pass that the disk was too slow for.
  const auto training = replayed_training(replay_of({{"loss", {4, 3, 2}}, {"step", {101, 102, 104}}}));
  ASSERT_EQ(training->curves.size(), 1u);
  EXPECT_EQ(numbers(*training->curves.front()), (std::vector<int64_t>{101, 102, 104}));
  EXPECT_EQ(training->curves.front()->options.steps, 104);
}

TEST(ReplayedTraining, CountsItselfWhereARecordingDoesNot) {
  const auto without = replayed_training(replay_of({{"loss", {4, 3, 2}}}));
  EXPECT_EQ(numbers(*without->curves.front()), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(without->curves.front()->options.steps, 3);
  const double nan = std::nan("");
  const auto foreign = replayed_training(replay_of({{"loss", {4, 3, 2, 1}}, {"step", {nan, 7, 7, 1e300}}}));
  EXPECT_EQ(numbers(*foreign->curves.front()), (std::vector<int64_t>{1, 7, 8, 9}));
}

TEST(ReplayedTraining, HasNoGradientsWhereNoneWereRecorded) {
  const auto training = replayed_training(replay_of({{"loss", {0.5}}}));
  ASSERT_EQ(training->curves.size(), 1u);
  EXPECT_TRUE(training->curves.front()->groups.empty());
  EXPECT_TRUE(training->curves.front()->steps.front()->gradient_norms.empty());
}

}  // namespace replayed_training_test
}  // namespace shardlens::ui
