// The Session: it runs new settings at once, steps and pauses, keeps the old result if a choice is refused,
// and stays usable after a cancelled run or a lost rank.
#include "engine/runtime/session/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/base/clock.h"
#include "engine/base/worker.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace session_test {

using testing::small_layer;

constexpr double kLimitSeconds = 120;  // generous: a sanitizer build on a busy machine

size_t first_collective(const Program& program) {
  size_t at = 0;
  while (!is_collective(program.steps[at].op)) ++at;
  return at;
}

TEST(Session, RunsAtOnceAndKnowsEverythingAboutTheRun) {
  Session session(small_layer(4));
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  ASSERT_EQ(snapshot->state, RunState::Done) << snapshot->message;
  ASSERT_NE(snapshot->result, nullptr);
  const Result& result = *snapshot->result;
  EXPECT_FALSE(snapshot->stale());
  EXPECT_EQ(snapshot->position, snapshot->plan->program.steps.size());
  EXPECT_TRUE(result.timed);
  EXPECT_GT(result.forward_seconds, 0);
  EXPECT_GT(result.backward_seconds, 0);
  EXPECT_TRUE(result.parity_summary.agrees);
  EXPECT_GT(result.gemm_ceiling_flops, 0);
  EXPECT_EQ(result.communicator.name, "local");
  for (int rank = 0; rank < 4; ++rank) {
    const auto r = static_cast<size_t>(rank);
    EXPECT_EQ(result.events[r].size(), snapshot->plan->program.steps.size());
    EXPECT_EQ(result.high_water_bytes[r], snapshot->plan->memory[r].arena_bytes);
    for (const Tensor& tensor : snapshot->plan->program.tensors) {
      if (tensor.kind == MemoryKind::Workspace) continue;
      EXPECT_NE(result.samples[r][static_cast<size_t>(tensor.id)], nullptr) << tensor.name;
    }
  }
}

TEST(Session, ReplicatedSamplesAreKeptOnce) {
  Session session(small_layer(3));
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  ASSERT_NE(snapshot->result, nullptr);
  for (const Tensor& tensor : snapshot->plan->program.tensors) {
    if (tensor.layout != kReplicated || tensor.kind == MemoryKind::Workspace) continue;
    const auto id = static_cast<size_t>(tensor.id);
    EXPECT_EQ(snapshot->result->samples[0][id], snapshot->result->samples[2][id]) << tensor.name;
  }
}

TEST(Session, StepsToTheNextCollectiveAndBack) {
  Session session(small_layer(2));
  auto snapshot = session.wait_until_idle(kLimitSeconds);
  const size_t collective = first_collective(snapshot->plan->program);
  session.send(command::Seek{0});
  session.send(command::NextCollective{});
  snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->position, collective + 1);
  EXPECT_EQ(snapshot->state, RunState::Paused);
  session.send(command::StepOnce{});
  EXPECT_EQ(session.wait_until_idle(kLimitSeconds)->position, collective + 2);
  session.send(command::Seek{3});
  EXPECT_EQ(session.wait_until_idle(kLimitSeconds)->position, 3u);
  session.send(command::Run{});
  snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->state, RunState::Done);
  EXPECT_EQ(snapshot->position, snapshot->plan->program.steps.size());
}

// A step that is asked for together with new settings came before their run began: it ran unseen, and the old
// result was shown for ever.
TEST(Session, AStepInARunThatHasNotBegunIsSampled) {
  const std::vector<Command> steps{command::Seek{3}, command::StepOnce{}, command::NextCollective{}};
  for (size_t i = 0; i < steps.size(); ++i) {
    SCOPED_TRACE(i);
    Session session(small_layer(2));
    session.wait_until_idle(kLimitSeconds);
    session.send(command::SetSettings{small_layer(4)});
    session.send(steps[i]);
    const auto snapshot = session.wait_until_idle(kLimitSeconds);
    EXPECT_EQ(snapshot->state, RunState::Paused) << snapshot->message;
    EXPECT_GT(snapshot->position, 0u);
    ASSERT_FALSE(snapshot->stale());
    const Step& first = snapshot->plan->program.steps.front();
    ASSERT_FALSE(first.outputs.empty());
    EXPECT_NE(snapshot->result->samples[0][static_cast<size_t>(first.outputs[0])], nullptr);
    session.send(command::Run{});
    const auto whole = session.wait_until_idle(kLimitSeconds);
    EXPECT_EQ(whole->state, RunState::Done) << whole->message;
    EXPECT_TRUE(whole->result->parity_summary.agrees);
  }
}

// At its last step a run can no longer be halted: it is over, and timed like any other.
TEST(Session, APauseLeavesARunThatCanGoOnOrOneThatIsTimed) {
  Session session(small_layer(2));
  session.wait_until_idle(kLimitSeconds);
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    session.send(command::Run{});
    let_workers_go_on(1e-6 * static_cast<double>(random() % 12'000));
    session.send(command::Pause{});
    const auto snapshot = session.wait_until_idle(kLimitSeconds);
    const bool over = snapshot->position == snapshot->plan->program.steps.size();
    EXPECT_EQ(snapshot->state, over ? RunState::Done : RunState::Paused);
    EXPECT_EQ(snapshot->result->timed, over) << "round " << round;
  }
}

TEST(Session, NewSettingsReplanAndRunAgain) {
  Session session(small_layer(2));
  session.wait_until_idle(kLimitSeconds);
  session.send(command::SetSettings{small_layer(6, "reversed")});
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->settings.tp, 6);
  EXPECT_EQ(snapshot->result->plan->program.settings.split.name, "reversed");
  EXPECT_FALSE(snapshot->stale());
  EXPECT_TRUE(snapshot->result->parity_summary.agrees);
}

TEST(Session, ARefusedChoiceKeepsTheOldResultAndSaysWhatWouldWork) {
  Session session(small_layer(4));
  session.wait_until_idle(kLimitSeconds);
  session.send(command::SetSettings{small_layer(5)});
  auto snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->state, RunState::Refused);
  EXPECT_NE(snapshot->message.find("4 or 6"), std::string::npos) << snapshot->message;
  EXPECT_EQ(snapshot->plan, nullptr);
  ASSERT_NE(snapshot->result, nullptr);
  EXPECT_TRUE(snapshot->stale());
  session.send(command::Run{});  // nothing to run; must not hang or throw
  snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->state, RunState::Refused);
  session.send(command::SetSettings{small_layer(6)});
  EXPECT_EQ(session.wait_until_idle(kLimitSeconds)->state, RunState::Done);
}

TEST(Session, PlannedOnlyPrecisionsShowAPlanAndSayWhy) {
  Settings settings = small_layer(4);
  settings.dtype = DType::Fp16;
  Session session(settings);
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->state, RunState::Refused);
  EXPECT_NE(snapshot->plan, nullptr);
  EXPECT_FALSE(snapshot->message.empty());
}

TEST(Session, CancelLeavesAUsableSession) {
  Settings large = small_layer(4);
  large.model.hidden = 768;
  large.model.ffn = 3072;
  large.seq = 64;
  Session session(large);
  session.send(command::Cancel{});
  auto snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_TRUE(snapshot->state == RunState::Cancelled || snapshot->state == RunState::Done);
  session.send(command::Run{});
  snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->state, RunState::Done) << snapshot->message;
}

TEST(Session, ARunThatLosesARankShowsHowFarEachRankCame) {
  const double begin = now_seconds();
  Session session(small_layer(3));
  const auto before = session.wait_until_idle(kLimitSeconds);
  Settings settings = small_layer(3);
  // No step of a sound rank takes as long as a whole run did, also where ranks wait for a core.
  settings.timeout_seconds = std::clamp(now_seconds() - begin, 0.5, 30.0);
  settings.delays = {{1, "mlp.fc", 60'000}};
  session.send(command::SetSettings{settings});
  const auto failed = session.wait_until_idle(kLimitSeconds);
  ASSERT_EQ(failed->state, RunState::Failed);
  ASSERT_TRUE(failed->failure.has_value());
  EXPECT_EQ(failed->failure->ranks, std::vector{1});
  EXPECT_TRUE(failed->failure->lost);
  EXPECT_FALSE(failed->stale()) << "it is shown in place of the run before";
  const auto& events = failed->result->events;
  ASSERT_EQ(events.size(), 3u);
  const auto step = static_cast<size_t>(failed->failure->step);
  EXPECT_LT(events[1].size(), step) << "it did not come to the collective";
  for (const size_t rank : {size_t{0}, size_t{2}}) EXPECT_EQ(events[rank].size(), step) << "it waited there";
  EXPECT_EQ(failed->position, events[1].size()) << "it begins nothing more, for nobody waits for it";
  EXPECT_FALSE(failed->result->timed);
  EXPECT_FALSE(failed->result->not_compared.empty());
  session.send(command::SetSettings{small_layer(3)});
  const auto again = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(again->state, RunState::Done) << again->message;
  EXPECT_FALSE(again->failure.has_value());
  EXPECT_TRUE(again->result->parity_summary.agrees);
}

TEST(Session, ManyQuickChangesEndWithTheLast) {
  Session session(small_layer(2));
  for (int tp : {3, 4, 6, 12, 1, 2, 3, 4}) session.send(command::SetSettings{small_layer(tp)});
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_EQ(snapshot->settings.tp, 4);
  EXPECT_EQ(snapshot->result->plan, snapshot->plan);
}

StepId step_named(const Program& program, const std::string& name) {
  for (const Step& step : program.steps)
    if (step.name == name) return step.id;
  throw std::logic_error("no step " + name);
}

std::shared_ptr<const WindowValues> read_window(Session& session, const TensorWindow& window) {
  session.send(command::ReadWindows{session.snapshot()->plan, {window}});
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  if (!snapshot->windows || snapshot->windows->values.empty()) return nullptr;
  return snapshot->windows->values.front();
}

TEST(Session, ReadsAWindowOnEveryRankAndInTheSerialRun) {
  Session session(small_layer(4));
  const auto snapshot = session.wait_until_idle(kLimitSeconds);
  EXPECT_TRUE(snapshot->reads_windows);
  const Program& program = snapshot->plan->program;
  const TensorId z = program.step(step_named(program, "mlp.proj")).outputs[0];
  const auto read = read_window(session, {z, {3, 5}, {7, 9}});
  ASSERT_NE(read, nullptr);
  ASSERT_EQ(read->ranks.size(), 4u);
  ASSERT_EQ(read->serial.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (size_t rank = 0; rank < 4; ++rank) {
      const TensorSample& sample = *snapshot->result->samples[rank][static_cast<size_t>(z)];
      EXPECT_EQ(read->ranks[rank][i],
                sample.value(3 + static_cast<int64_t>(i / 2), 7 + static_cast<int64_t>(i % 2)));
      sum += read->ranks[rank][i];
    }
    EXPECT_NEAR(sum, read->serial[i], 1e-4 * (1 + std::abs(sum)));
  }
}

// A piece of more than a million elements keeps no values: they are read in a pass of their own.
TEST(Session, ReadsAWindowThatNoSampleKept) {
  Settings settings = small_layer(1);
  settings.model.positions = 128;
  settings.batch = 96;
  settings.seq = 128;
  Session session(settings);
  const auto before = session.wait_until_idle(kLimitSeconds);
  const Program& program = before->plan->program;
  const Step& fc = program.step(step_named(program, "mlp.fc"));
  const TensorId h = fc.outputs[0], n = fc.inputs[0];
  const TensorSample& sample = *before->result->samples[0][static_cast<size_t>(h)];
  ASSERT_FALSE(sample.has_exact());
  const auto row = read_window(session, {n, {11, 12}, {0, 96}});
  ASSERT_NE(row, nullptr);
  const auto weight = read_window(session, {fc.inputs[1], {0, 96}, {13, 14}});
  const auto bias = read_window(session, {fc.inputs[2], {0, 1}, {13, 14}});
  const auto cell = read_window(session, {h, {11, 12}, {13, 14}});
  ASSERT_TRUE(weight && bias && cell);
  double sum = bias->ranks[0][0];
  for (size_t k = 0; k < 96; ++k) sum += row->ranks[0][k] * weight->ranks[0][k];
  EXPECT_NEAR(cell->ranks[0][0], sum, 1e-5 * (1 + std::abs(sum)));
  EXPECT_EQ(session.snapshot()->position, before->position) << "what is shown stays where it was";
  session.send(command::Seek{4});
  EXPECT_EQ(session.wait_until_idle(kLimitSeconds)->position, 4u) << "and can be walked through";
}

TEST(Session, AWindowOfAnotherPlanIsNotRead) {
  Session session(small_layer(2));
  const auto first = session.wait_until_idle(kLimitSeconds);
  session.send(command::SetSettings{small_layer(4)});
  session.wait_until_idle(kLimitSeconds);
  session.send(command::ReadWindows{first->plan, {{0, {0, 1}, {0, 1}}}});
  EXPECT_EQ(session.wait_until_idle(kLimitSeconds)->windows, nullptr);
}

}  // namespace session_test
}  // namespace shardlens
