// Texts that models write while they train: with the weights of the stated step, and with no effect on the
// training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>


#include "engine/base/worker.h"
#include "engine/train/generate/writing.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "engine/train/training_session.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace training_session_writing_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::small_bert;
using testing::small_model;
using Snap = std::shared_ptr<const TrainSnapshot>;

constexpr double kTimeoutSeconds = 120;
constexpr int64_t kRow = 32;  ///< tokens of a row that is learnt

class TrainingSessionWriting : public TestFolder {};

/// On the built-in text, as bytes.
train_command::Start start_of(int tp, int dp, int64_t steps, const WritingWish& wish) {
  TrainOptions options;
  options.settings = small_model(tp, dp);
  options.settings.model.vocab = 258;
  options.settings.model.positions = 2 * kRow;
  options.settings.seq = kRow;
  options.settings.dtype = DType::Fp64;
  options.steps = steps;
  options.schedule = {.peak = 3e-3, .lowest = 3e-3, .warmup = 2, .steps = steps, .decay = Decay::Constant};
  train_command::Start start{{{"a model", options}}, ""};
  start.writing = wish;
  return start;
}

WritingWish wish_of(int64_t tokens, int64_t every) {
  WritingWish wish;
  wish.prompt = "In the ";
  wish.tokens = tokens;
  wish.every = every;
  return wish;
}

Snap trained(TrainingSession& session, const train_command::Start& start) {
  session.send(start);
  return session.wait_until_idle(kTimeoutSeconds);
}

std::vector<int64_t> steps_of(const TrainCurve& curve) {
  std::vector<int64_t> steps;
  for (const auto& text : curve.texts) steps.push_back(text->step);
  return steps;
}

std::vector<double> losses_of(const TrainCurve& curve) {
  std::vector<double> losses;
  for (const auto& step : curve.steps) losses.push_back(step->report.loss);
  return losses;
}

TEST_F(TrainingSessionWriting, ATextHasTheWeightsOfItsStep) {
  TrainingSession session;
  train_command::Start start = start_of(2, 2, 20, wish_of(20, 10));
  start.checkpoints = path("runs");
  start.models.front().options.checkpoint_every = 20;
  const Snap last = trained(session, start);
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  const TrainCurve& curve = *last->curves.front();
  ASSERT_EQ(curve.writing_problem, "");
  ASSERT_THAT(steps_of(curve), ElementsAre(0, 10, 20));
  EXPECT_NE(curve.texts[0]->text, curve.texts[2]->text);

  Settings settings = start.models.front().options.settings;
  settings.weights_path = curve.checkpoint + "/model.safetensors";
  Generator generator(settings);
  const BytesTokenizer tokenizer;
  Sampling sampling;
  sampling.temperature = start.writing.temperature;
  sampling.seed = settings.seed;
  const Writing alone = write_on(generator, tokenizer, prompt_tokens("In the ", tokenizer), 20, sampling,
                                 [](const std::string&) { return true; });
  EXPECT_EQ(curve.texts[2]->text, alone.text);
  EXPECT_EQ(curve.texts[2]->tokens, 20);
  EXPECT_FALSE(curve.texts[2]->going_on);
}

TEST_F(TrainingSessionWriting, LeavesTheTrainingAsItIs) {
  TrainingSession silent, writing;
  const Snap without = trained(silent, start_of(2, 1, 12, wish_of(20, 0)));
  const Snap with = trained(writing, start_of(2, 1, 12, wish_of(20, 3)));
  EXPECT_THAT(without->curves.front()->texts, IsEmpty());
  EXPECT_EQ(with->curves.front()->texts.size(), 5u);
  EXPECT_EQ(losses_of(*without->curves.front()), losses_of(*with->curves.front()));
}

TEST_F(TrainingSessionWriting, ATextLongerThanARowGoesOnFromItsSecondHalf) {
  TrainingSession session;
  const Snap last = trained(session, start_of(2, 1, 2, wish_of(5 * kRow, 2)));
  ASSERT_EQ(last->curves.front()->texts.size(), 2u) << last->curves.front()->writing_problem;
  EXPECT_EQ(last->curves.front()->texts.back()->tokens, 5 * kRow);
}

TEST_F(TrainingSessionWriting, IsWrittenWhenAskedForAlsoAfterTheLastStep) {
  TrainingSession session;
  const Snap done = trained(session, start_of(1, 1, 2, wish_of(20, 0)));
  ASSERT_EQ(done->state, TrainState::Done) << done->message;
  session.send(train_command::Write{wish_of(12, 0), true});
  session.send(train_command::Write{wish_of(5, 0), false});
  const Snap last = session.wait_until_idle(kTimeoutSeconds);
  EXPECT_EQ(last->state, TrainState::Done);
  ASSERT_EQ(last->curves.front()->texts.size(), 1u) << last->curves.front()->writing_problem;
  EXPECT_EQ(last->curves.front()->texts.front()->step, 2);
  EXPECT_LE(last->curves.front()->texts.front()->tokens, 12);
}

TEST_F(TrainingSessionWriting, AnotherCommandCutsATextShort) {
  TrainingSession session;
  const Snap done = trained(session, start_of(1, 1, 2, wish_of(20, 0)));
  ASSERT_EQ(done->state, TrainState::Done) << done->message;
  WritingWish endless = wish_of(100'000'000, 0);
  endless.temperature = 0;  // the likeliest token is a letter and not the end of the text
  session.send(train_command::Write{endless, true});
  for (int i = 0; i < 20000 && session.snapshot()->curves.front()->texts.empty(); ++i)
    let_workers_go_on(0.005);
  session.send(train_command::Write{wish_of(20, 0), false});
  const Snap last = session.wait_until_idle(kTimeoutSeconds);
  ASSERT_EQ(last->curves.front()->texts.size(), 1u);
  EXPECT_EQ(last->curves.front()->texts.front()->end, WritingEnd::Stopped);
  EXPECT_FALSE(last->curves.front()->texts.front()->going_on);
}

TEST_F(TrainingSessionWriting, WhatCannotBeWrittenIsSaidAndEndsNoTraining) {
  TrainingSession session;
  train_command::Start start = start_of(1, 1, 3, wish_of(20, 1));
  start.writing.temperature = -1;
  const Snap cold = trained(session, start);
  EXPECT_EQ(cold->state, TrainState::Done) << cold->message;
  EXPECT_THAT(cold->curves.front()->writing_problem, HasSubstr("temperature"));
  EXPECT_THAT(cold->curves.front()->texts, IsEmpty());

  start.models.front().options.settings.model = small_bert(1).model;
  start.models.front().options.settings.model.vocab = 258;
  start.models.front().options.settings.model.positions = kRow;
  start.writing = wish_of(20, 1);
  const Snap encoder = trained(session, start);
  ASSERT_EQ(encoder->state, TrainState::Done) << encoder->message;
  EXPECT_EQ(encoder->curves.front()->writing_problem, "") << "nobody asked it";
  session.send(train_command::Write{wish_of(20, 0), true});
  const Snap asked = session.wait_until_idle(kTimeoutSeconds);
  EXPECT_EQ(asked->state, TrainState::Done);
  EXPECT_THAT(asked->curves.front()->writing_problem, HasSubstr("encoder"));
}

}  // namespace training_session_writing_test
}  // namespace shardlens
