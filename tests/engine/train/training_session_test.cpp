// The session that trains for the studio: what it publishes, and that it obeys every command between steps.
#include "engine/train/training_session.h"
#include "engine/train/step_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/worker.h"
#include "engine/record/recording.h"
#include "engine/train/checkpoint.h"
#include "engine/train/data/train_data.h"
#include "engine/train/gradient_norms.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace training_session_test {

using ::testing::HasSubstr;
using testing::small_bert;
using testing::small_model;
using Snap = std::shared_ptr<const TrainSnapshot>;

constexpr double kTimeoutSeconds = 120;

train_command::Model model_of(Settings settings, int64_t steps, const std::string& name = "a model") {
  settings.model.vocab = 258;
  TrainOptions options;
  options.settings = settings;
  options.steps = steps;
  options.schedule = {.peak = 3e-3, .lowest = 3e-3, .warmup = 2, .steps = steps, .decay = Decay::Constant};
  options.validate_every = 4;
  options.validation_rows = options.settings.batch;
  return {name, options};
}

Snap trained(TrainingSession& session, const train_command::Start& start) {
  session.send(start);
  return session.wait_until_idle(kTimeoutSeconds);
}

/// Waits until the newest snapshot satisfies `is_so`; the last one either way.
template <typename Condition>
Snap wait_for(const TrainingSession& session, const Condition& is_so) {
  for (int i = 0; i < 20000 && !is_so(*session.snapshot()); ++i) let_workers_go_on(0.005);
  return session.snapshot();
}

TEST(TrainingSession, TrainsToItsLastStepAndLearns) {
  TrainingSession session;
  EXPECT_EQ(session.snapshot()->state, TrainState::Idle);
  const Snap last = trained(session, {{model_of(small_model(2), 40)}, ""});
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  ASSERT_EQ(last->curves.size(), 1u);
  const TrainCurve& curve = *last->curves.front();
  ASSERT_EQ(curve.steps.size(), 40u);
  EXPECT_LT(curve.steps.back()->report.loss, curve.steps.front()->report.loss - 1) << "it must learn";
  EXPECT_EQ(curve.validations.size(), 10u);
  EXPECT_GT(curve.ceiling_flops, 0);
  EXPECT_GT(last->text.unigram_entropy_nats, 2);
  EXPECT_LT(last->text.unigram_entropy_nats, std::log(257.0));
}

TEST(TrainingSession, TheLayersNormsMakeUpTheGlobalNorm) {
  Settings half = small_model(2, 2);
  half.dtype = DType::Fp16;
  for (const Settings& settings : {small_model(1), small_model(3), small_model(2, 2), half}) {
    TrainingSession session;
    const Snap last = trained(session, {{model_of(settings, 3)}, ""});
    ASSERT_EQ(last->state, TrainState::Done) << last->message;
    for (const auto& step : last->curves.front()->steps) {
      double sum = 0;
      for (const double norm : step->gradient_norms) sum += norm * norm;
      EXPECT_NEAR(std::sqrt(sum) / step->report.gradient_norm, 1, 1e-5)
          << "T " << settings.tp << ", D " << settings.dp;
    }
    EXPECT_THAT(last->curves.front()->groups,
                ::testing::ElementsAre("embedding", "layer 0", "layer 1", "head"));
  }
}

TEST(TrainingSession, PausesBetweenStepsAndGoesOn) {
  TrainingSession session;
  session.send(train_command::Start{{model_of(small_model(2), 100000)}, ""});
  wait_for(session,
           [](const TrainSnapshot& s) { return !s.curves.empty() && s.curves[0]->steps.size() > 2; });
  session.send(train_command::Pause{});
  const Snap paused = session.wait_until_idle(kTimeoutSeconds);
  ASSERT_EQ(paused->state, TrainState::Paused) << paused->message;
  const size_t steps = paused->curves[0]->steps.size();
  let_workers_go_on(0.05);
  EXPECT_EQ(session.snapshot()->curves[0]->steps.size(), steps) << "it stands still";
  session.send(train_command::Resume{});
  const Snap on =
      wait_for(session, [&](const TrainSnapshot& s) { return s.curves[0]->steps.size() > steps; });
  EXPECT_EQ(on->state, TrainState::Running);
  EXPECT_EQ(on->curves[0]->steps[steps]->report.step, static_cast<int64_t>(steps) + 1) << "no step is lost";
  session.send(train_command::Stop{});
  const Snap stopped = session.wait_until_idle(kTimeoutSeconds);
  EXPECT_EQ(stopped->state, TrainState::Stopped);
  EXPECT_GT(stopped->curves[0]->steps.size(), steps) << "the curve stays";
}

TEST(TrainingSession, AFrozenStepShowsEveryTensorOfThatStep) {
  TrainingSession session;
  session.send(train_command::Start{{model_of(small_model(2), 100000)}, ""});
  wait_for(session,
           [](const TrainSnapshot& s) { return !s.curves.empty() && s.curves[0]->steps.size() > 2; });
  session.send(train_command::Freeze{});
  const Snap frozen = session.wait_until_idle(kTimeoutSeconds);
  ASSERT_EQ(frozen->state, TrainState::Paused) << frozen->message;
  ASSERT_TRUE(frozen->frozen);
  const TrainCurve& curve = *frozen->curves[0];
  EXPECT_EQ(frozen->frozen->step, curve.steps.back()->report.step);
  const Result& result = *frozen->frozen->shown->result;
  const Program& program = result.plan->program;
  EXPECT_EQ(result.plan, curve.plan);
  for (int rank = 0; rank < program.tp(); ++rank) {
    for (const Tensor& tensor : program.tensors) {
      if (tensor.kind == MemoryKind::Workspace || producer_of(program, tensor.id) < 0) continue;
      EXPECT_TRUE(result.samples[static_cast<size_t>(rank)][static_cast<size_t>(tensor.id)])
          << tensor.name << " on rank " << rank;
    }
  }
  EXPECT_GT(result.flops_per_second, 0);
  // The samples are those of this step: the loss among them is the loss of the curve.
  for (const Tensor& tensor : program.tensors) {
    if (tensor.name != "loss") continue;
    const TensorSample& loss = *result.samples[0][static_cast<size_t>(tensor.id)];
    EXPECT_EQ(loss.value(0, 0), curve.steps.back()->report.loss);
  }
  session.send(train_command::Resume{});
  const Snap on = wait_for(
      session, [&](const TrainSnapshot& s) { return s.curves[0]->steps.size() > curve.steps.size(); });
  EXPECT_FALSE(on->frozen) << "going on lets it go";
}

TEST(TrainingSession, FreezingChangesNothingOfWhatIsLearnt) {
  const auto losses = [](bool freeze) {
    TrainingSession session;
    session.send(train_command::Start{{model_of(small_model(2), 12)}, ""});
    if (freeze) {
      session.send(train_command::Freeze{});
      session.wait_until_idle(kTimeoutSeconds);
      session.send(train_command::Resume{});
    }
    const Snap last = session.wait_until_idle(kTimeoutSeconds);
    std::vector<double> found;
    for (const auto& step : last->curves.at(0)->steps) found.push_back(step->report.loss);
    return found;
  };
  const std::vector<double> plain = losses(false);
  EXPECT_EQ(plain.size(), 12u);
  EXPECT_EQ(plain, losses(true));
}

TEST(TrainingSession, TheLastStepCanBeFrozenAfterTheRun) {
  TrainingSession session;
  const Snap done = trained(session, {{model_of(small_model(2), 3)}, ""});
  EXPECT_FALSE(done->frozen);
  session.send(train_command::Freeze{});
  const Snap frozen = session.wait_until_idle(kTimeoutSeconds);
  ASSERT_TRUE(frozen->frozen);
  EXPECT_EQ(frozen->frozen->step, 3);
  EXPECT_EQ(frozen->state, TrainState::Done);
  session.send(train_command::LetGo{});
  EXPECT_FALSE(session.wait_until_idle(kTimeoutSeconds)->frozen);
}

// 2^24 over 44 tokens is beyond fp16, so the first step overflows: it can be looked at, and the run goes on.
TEST(TrainingSession, ASkippedStepCanBeFrozen) {
  train_command::Model model = model_of(small_model(2), 16);
  model.options.settings.dtype = DType::Fp16;
  model.options.first_loss_scale = LossScaler::kLargestScale;
  TrainingSession session;
  session.send(train_command::Start{{model}, ""});
  session.send(train_command::Freeze{});
  const Snap frozen = session.wait_until_idle(kTimeoutSeconds);
  ASSERT_TRUE(frozen->frozen) << frozen->message;
  EXPECT_EQ(frozen->frozen->step, 1);
  EXPECT_TRUE(frozen->curves[0]->steps[0]->report.skipped);
  int64_t not_finite = 0;
  for (const auto& of_rank : frozen->frozen->shown->result->samples) {
    for (const auto& sample : of_rank) not_finite += sample ? sample->stats.nan_count : 0;
  }
  EXPECT_GT(not_finite, 0) << "what overflowed is there to see";
  session.send(train_command::Resume{});
  const Snap last = session.wait_until_idle(kTimeoutSeconds);
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  EXPECT_FALSE(last->curves[0]->steps.back()->report.skipped);
  EXPECT_LT(last->curves[0]->steps.back()->report.loss_scale, LossScaler::kLargestScale);
}

TEST(TrainingSession, TwoModelsAreTrainedInTurnOnTheSameText) {
  Settings post = small_bert(2), pre = small_bert(2);
  post.seq = pre.seq = 16;
  pre.model.norm = NormPlacement::Pre;
  TrainingSession session;
  const Snap last = trained(session, {{model_of(post, 6, "post-LN"), model_of(pre, 6, "pre-LN")}, ""});
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  ASSERT_EQ(last->curves.size(), 2u);
  EXPECT_EQ(last->curves[0]->steps.size(), 6u);
  EXPECT_EQ(last->curves[1]->steps.size(), 6u);
  EXPECT_NE(last->curves[0]->steps[0]->report.loss, last->curves[1]->steps[0]->report.loss);
}

TEST(TrainingSession, ACurveThatBreaksLeavesTheOtherAlone) {
  train_command::Model wild = model_of(small_model(2), 30, "wild");
  wild.options.schedule.peak = wild.options.schedule.lowest = 1e30;
  wild.options.settings.optimizer.clip = 0;
  TrainingSession session;
  const Snap last = trained(session, {{wild, model_of(small_model(2), 30, "tame")}, ""});
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  EXPECT_THAT(last->curves[0]->ended, HasSubstr("training stopped at step"));
  EXPECT_LT(last->curves[0]->steps.size(), 30u);
  EXPECT_EQ(last->curves[1]->steps.size(), 30u);
}

TEST(TrainingSession, BadWishesAreRefusedWithTheRemedy) {
  TrainingSession session;
  Snap last = trained(session, {{model_of(small_model(2), 3)}, "/no/such/text.txt"});
  EXPECT_EQ(last->state, TrainState::Refused);
  EXPECT_THAT(last->message, HasSubstr("/no/such/text.txt"));

  train_command::Model narrow = model_of(small_model(2), 3);
  narrow.options.settings.model.vocab = 53;
  last = trained(session, {{narrow}, ""});
  EXPECT_EQ(last->state, TrainState::Refused);
  EXPECT_THAT(last->message, HasSubstr("53"));

  last = trained(session, {{model_of(small_model(2), 3)}, ""});
  EXPECT_EQ(last->state, TrainState::Done) << "and the session goes on: " << last->message;
  EXPECT_TRUE(last->message.empty());
}

TEST(TrainingSession, EndsAtOnceInTheMiddleOfAStep) {
  Settings settings = small_model(2);
  settings.model.hidden = 320;
  settings.model.ffn = 1280;
  settings.model.positions = settings.seq = 256;
  settings.batch = 16;
  const auto begin = std::chrono::steady_clock::now();
  {
    TrainingSession session;
    session.send(train_command::Start{{model_of(settings, 100000)}, ""});
    wait_for(session, [](const TrainSnapshot& s) { return s.state == TrainState::Running; });
  }
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), kTimeoutSeconds);
}

class LosingTraining : public TestFolder {
 protected:
  train_command::Start saved_every_five(Settings settings, int64_t steps) {
    train_command::Start start{{model_of(std::move(settings), steps)}, ""};
    start.models.front().options.checkpoint_every = 5;
    start.checkpoints = path("checkpoints");
    return start;
  }

  static std::vector<double> losses(const TrainSnapshot& train) {
    std::vector<double> all;
    for (const auto& step : train.curves.front()->steps) all.push_back(step->report.loss);
    return all;
  }
};

// Trains without a fault, and chooses a time-out that no step of a sound rank reaches, also where ranks wait
// for a core: half of what the whole training took.
Snap trained_soundly(Settings& settings, int64_t steps) {
  const double begin = now_seconds();
  TrainingSession session;
  const Snap last = trained(session, {{model_of(settings, steps)}, ""});
  settings.timeout_seconds = std::max(0.5, (now_seconds() - begin) / 2);
  return last;
}

TEST_F(LosingTraining, ALostRankEndsItAndARestartGivesTheBitsOfARunThatLostNone) {
  constexpr int64_t kSteps = 150;
  for (const int lost : {0, 3}) {
    Settings settings = small_model(2, 2);
    const Snap wanted = trained_soundly(settings, kSteps);
    TrainingSession session;
    session.send(saved_every_five(settings, kSteps));
    wait_for(session, [](const TrainSnapshot& now) {
      return !now.curves.empty() && now.curves.front()->saved_step >= 10;
    });
    session.send(train_command::LoseRank{lost});
    const Snap failed = session.wait_until_idle(kTimeoutSeconds);
    ASSERT_EQ(failed->state, TrainState::Failed);
    const TrainCurve& curve = *failed->curves.front();
    ASSERT_TRUE(curve.failure.has_value());
    EXPECT_EQ(curve.failure->ranks, std::vector{lost});
    EXPECT_TRUE(curve.failure->lost);
    EXPECT_THAT(curve.ended, HasSubstr("is lost"));
    EXPECT_EQ(curve.saved_step, static_cast<int64_t>(curve.steps.size()) / 5 * 5);
    session.send(train_command::Freeze{});
    const Snap shown = session.wait_until_idle(kTimeoutSeconds);
    ASSERT_NE(shown->frozen, nullptr);
    EXPECT_EQ(shown->frozen->step, static_cast<int64_t>(curve.steps.size()) + 1);
    EXPECT_EQ(shown->frozen->shown->state, RunState::Failed);
    EXPECT_EQ(shown->frozen->shown->result->events.size(), 4u);
    session.send(train_command::Restart{});
    const Snap last = session.wait_until_idle(kTimeoutSeconds);
    ASSERT_EQ(last->state, TrainState::Done) << last->message;
    EXPECT_EQ(last->curves.front()->saved_step, kSteps);
    EXPECT_EQ(losses(*last), losses(*wanted));
  }
}

TEST_F(LosingTraining, WhatWasNotSavedBeginsAnew) {
  Settings settings = small_model(2);
  trained_soundly(settings, 30);
  TrainingSession session;
  session.send(train_command::Restart{});
  EXPECT_EQ(session.wait_until_idle(kTimeoutSeconds)->state, TrainState::Idle)
      << "there is nothing to restart";
  session.send(train_command::Start{{model_of(settings, 30)}, ""});
  wait_for(session, [](const TrainSnapshot& now) { return now.state == TrainState::Running; });
  session.send(train_command::LoseRank{1});
  ASSERT_EQ(session.wait_until_idle(kTimeoutSeconds)->state, TrainState::Failed);
  session.send(train_command::Restart{});
  const Snap last = session.wait_until_idle(kTimeoutSeconds);
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  EXPECT_EQ(last->curves.front()->steps.size(), 30u);
  EXPECT_EQ(last->curves.front()->saved_step, 0);
}

class EndingTraining : public TestFolder {
 protected:
  /// Ends a session in the middle of a training that is saved every `every` steps, and returns its last
  /// state.
  Snap ended(int64_t every, TrainingSession::Others others) {
    TrainingSession session;
    train_command::Start start{{model_of(small_model(2), 100'000)}, ""};
    start.models.front().options.checkpoint_every = every;
    start.checkpoints = path("checkpoints");
    session.send(start);
    wait_for(session, [](const TrainSnapshot& now) {
      return !now.curves.empty() && now.curves.front()->steps.size() > 5;
    });
    session.end(others);
    return session.snapshot();
  }
};

TEST_F(EndingTraining, SavesTheLastStepsOfOneThatIsSaved) {
  for (const auto others : {TrainingSession::Others::Saved, TrainingSession::Others::Dropped}) {
    const Snap last = ended(100'000, others);
    const TrainCurve& curve = *last->curves.front();
    EXPECT_EQ(curve.save_problem, "");
    EXPECT_GT(curve.saved_step, 5);
    EXPECT_EQ(curve.saved_step, static_cast<int64_t>(curve.steps.size()));
    EXPECT_EQ(read_training_state(curve.checkpoint).step, curve.saved_step);
  }
}

TEST_F(EndingTraining, SavesOneThatWasNotSavedOnlyIfThatIsWanted) {
  const Snap dropped = ended(0, TrainingSession::Others::Dropped);
  EXPECT_EQ(dropped->curves.front()->saved_step, 0);
  EXPECT_FALSE(std::filesystem::exists(path("checkpoints")));
  const Snap saved = ended(0, TrainingSession::Others::Saved);
  const TrainCurve& curve = *saved->curves.front();
  EXPECT_EQ(curve.saved_step, static_cast<int64_t>(curve.steps.size())) << curve.save_problem;
  EXPECT_EQ(read_training_state(curve.checkpoint).step, curve.saved_step);
}

class TrainingRecording : public TestFolder {};

TEST_F(TrainingRecording, EveryStepOfEachCurveIsInAFile) {
  Snap last;
  {
    TrainingSession session;
    session.send(train_command::Record{path("recordings")});
    last = trained(session, {{model_of(small_model(2), 6, "one"), model_of(small_model(1), 6, "other")}, ""});
    ASSERT_EQ(last->state, TrainState::Done) << last->message;
    EXPECT_EQ(last->recording.files, 2);
    EXPECT_EQ(last->recording.passes, 12);
    EXPECT_EQ(last->recording.dropped_passes, 0);
  }
  std::set<int> ranks;
  for (const auto& entry : std::filesystem::directory_iterator(path("recordings"))) {
    const Recording recording(entry.path().string());
    EXPECT_TRUE(recording.finished());
    ASSERT_EQ(recording.totals().passes, 6);
    ranks.insert(recording.world_size());
    const TrainCurve& curve = *last->curves[recording.world_size() == 2 ? 0 : 1];
    for (int64_t step = 0; step < 6; ++step) {
      const std::vector<Metric> metrics = recording.pass(step).metrics;
      const TrainStep& was = *curve.steps[static_cast<size_t>(step)];
      const auto expect_metric = [&](const std::string& name, double value) {
        const auto metric = std::find_if(metrics.begin(), metrics.end(),
                                         [&](const Metric& one) { return one.first == name; });
        ASSERT_NE(metric, metrics.end()) << name;
        EXPECT_EQ(metric->second, value) << name;
      };
      expect_metric("step", static_cast<double>(was.report.step));
      expect_metric("loss", was.report.loss);
      ASSERT_EQ(was.gradient_norms.size(), curve.groups.size());
      for (size_t group = 0; group < curve.groups.size(); ++group)
        expect_metric(gradient_norm_metric(curve.groups[group]), was.gradient_norms[group]);
    }
    // The first step is pictured whole.
    const SampleTable samples = recording.samples(0);
    ASSERT_FALSE(samples.empty());
    for (const Tensor& tensor : recording.header().program.tensors) {
      // The optimizer's moments are changed where they lie, and no observer is shown them.
      if (tensor.kind == MemoryKind::Workspace || tensor.kind == MemoryKind::OptimizerState) continue;
      EXPECT_NE(samples[0][static_cast<size_t>(tensor.id)], nullptr) << tensor.name;
    }
  }
  EXPECT_EQ(ranks, (std::set<int>{1, 2}));
}

TEST_F(TrainingRecording, BeginsAndEndsInTheMiddleOfARun) {
  TrainingSession session;
  session.send(train_command::Start{{model_of(small_model(2), 100000)}, ""});
  wait_for(session, [](const TrainSnapshot& now) { return now.state == TrainState::Running; });
  session.send(train_command::Record{path("recordings")});
  const Snap on = wait_for(session, [](const TrainSnapshot& now) { return now.recording.passes > 2; });
  EXPECT_TRUE(on->recording.on);
  EXPECT_GT(on->recording.bytes, 0);
  session.send(train_command::Record{});
  const Snap off = wait_for(session, [](const TrainSnapshot& now) { return !now.recording.on; });
  session.send(train_command::Stop{});
  session.wait_until_idle(kTimeoutSeconds);
  EXPECT_EQ(Recording(off->recording.path).totals().passes, off->recording.passes);
}

}  // namespace training_session_test
}  // namespace shardlens
