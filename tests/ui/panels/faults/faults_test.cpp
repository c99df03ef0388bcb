// A rank is lost while the studio shows the run. A simulated user sees the mark on its track and the strip
// with the message, and uses the offered way to continue.
#include "ui/panels/faults/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/clock.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/train_snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/faults/fault_view.h"
#include "ui/panels/setup/delay_view.h"
#include "ui/panels/timeline/tracks.h"
#include "ui/panels/train/train_choices.h"
#include "ui/panels/train/train_view.h"

namespace shardlens::ui {
namespace faults_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kTimeoutSeconds = 500;  ///< only turns a hang into a message; a loaded machine is slow

void lose_a_rank(StudioHarness& harness, int rank) {
  harness.wait_until_at_rest();
  harness.view().of<DelayView>().rank = rank;
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/Lose"); });
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().failure.has_value(); }));
}

TEST(Faults, ALostRankIsMarkedOnItsTrackAndTheRunGoesOnAtAClick) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const Settings before = harness.snapshot().settings;
  lose_a_rank(harness, 2);
  const Snapshot failed = harness.snapshot();  // a copy: the next frame shows another
  ASSERT_EQ(failed.state, RunState::Failed);
  const RunFailure* failure = shown_failure(failed);
  ASSERT_NE(failure, nullptr);
  EXPECT_THAT(failure->ranks, ElementsAre(2));
  EXPECT_TRUE(failure->lost);
  const Program& program = failed.plan->program;
  EXPECT_TRUE(is_collective(program.step(failure->step).op));
  EXPECT_THAT(fault_words(program, *failure), AllOf(StartsWith("rank 2 lost in all-reduce of "),
                                                    HasSubstr(", step " + std::to_string(failure->step))));
  EXPECT_FALSE(failed.stale()) << "what was done until then is shown, and not an older run";

  const Tracks tracks = tracks_of(failed);
  ASSERT_TRUE(tracks.failure.has_value());
  ASSERT_EQ(tracks.ranks().size(), 4u);
  EXPECT_TRUE(tracks.measured) << "the tracks are those of this run, and no estimate";
  for (const auto& rank : tracks.ranks()) EXPECT_LT(rank.size(), program.steps.size());
  EXPECT_LT(tracks.ranks()[2].size(), tracks.ranks()[0].size() + 1) << "it was not ahead of the others";

  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_4);  // Traffic
    person.ItemClick("//Fault/place");
    person.Yield(2);
  });
  EXPECT_EQ(harness.view().tab, Tab::Stage);
  EXPECT_EQ(harness.view().selected_step, failure->step) << "a click on the words shows where it happened";
  EXPECT_EQ(harness.view().selected_rank, 2);

  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Fault/Details");
    IM_CHECK(person.GetWindowByRef("//Run fault") != nullptr);
    person.ItemClick("//Fault/Copy");
    IM_CHECK(std::string(ImGui::GetClipboardText()) == harness.snapshot().message);
    person.Yield(2);
    IM_CHECK(!is_shown("Run fault"));  // a click elsewhere takes it away
    person.ItemClick("//Fault/Details");
    person.Yield(2);
    IM_CHECK(is_shown("Run fault"));
    person.ItemClick("//Fault/Details");
    person.Yield(2);
    IM_CHECK(!is_shown("Run fault"));
    person.ItemClick("//Fault/Details");
    person.Yield(2);
    // The rest of the studio answers meanwhile.
    person.ItemClick("//Setup/T = 2");
    person.Yield(2);
    IM_CHECK(!is_shown("Run fault"));  // and the message does not stay over it
  });
  EXPECT_EQ(harness.view().wanted.settings(harness.snapshot()).tp, 2);
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().settings.tp == 2; }));
  harness.studio().session().send(command::SetSettings{failed.settings});
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().failure.has_value(); }));

  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Fault/run.again"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  EXPECT_EQ(harness.snapshot().settings, before) << "the delay is gone, and the time-out is that of before";
  EXPECT_TRUE(harness.snapshot().result->timed);
  EXPECT_TRUE(harness.snapshot().result->parity_summary.agrees);
  EXPECT_EQ(shown_failure(harness.snapshot()), nullptr);
  EXPECT_FALSE(tracks_of(harness.snapshot()).failure.has_value());
}

TEST(Faults, TheTimeoutComesBackHoweverTheRankDid) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const Settings before = harness.snapshot().settings;
  const auto run_again = [&] {
    ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().failure.has_value(); }));
    harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Fault/run.again"); });
    harness.wait_until_at_rest();
  };
  const auto undo = [&] {
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Z); });
  };
  lose_a_rank(harness, 2);
  run_again();
  EXPECT_FALSE(harness.view().changes.can_undo()) << "the loss was taken back, which is no change of its own";
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Y); });
  run_again();
  EXPECT_EQ(harness.snapshot().settings, before);
  lose_a_rank(harness, 2);
  undo();
  harness.wait_until_at_rest();
  Settings patient = before;
  patient.timeout_seconds = 60;
  harness.studio().session().send(command::SetSettings{patient});
  lose_a_rank(harness, 2);
  run_again();
  EXPECT_EQ(harness.snapshot().settings, patient) << "as it was when the rank was lost last";
}

TEST(Faults, TheLastRowOfBreakItLosesARankAndShowsWhere) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const Settings before = harness.snapshot().settings;
  harness.view().tab = Tab::BreakIt;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  harness.studio().breaks().wait_until_idle(kTimeoutSeconds);  // which mistakes are possible here
  harness.draw_frames(4);
  harness.view().selected_rank = 1;
  harness.perform([&](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Break it/faults").ID);
    person.ItemClick("lose");
    IM_CHECK_EQ(harness.view().tab, Tab::Stage);
  });
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().failure.has_value(); }));
  const RunFailure* failure = shown_failure(harness.snapshot());
  ASSERT_NE(failure, nullptr);
  EXPECT_TRUE(failure->lost);
  EXPECT_THAT(failure->ranks, ElementsAre(1)) << "the one that is selected";
  EXPECT_TRUE(tracks_of(harness.snapshot()).failure.has_value());
  EXPECT_EQ(harness.studio().breaks().snapshot()->planted, std::nullopt) << "no mistake was planted";
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Fault/run.again"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  EXPECT_EQ(harness.snapshot().settings, before);
}

TEST(Faults, WhatIsLateAndNotLostStays) {
  Settings settings;
  settings.timeout_seconds = 2;
  settings.delays = {{0, "mlp.fc", 20}, {1, "mlp.fc", 60'000}};
  const Settings again = without_losses(settings, 300);
  ASSERT_EQ(again.delays.size(), 1u);
  EXPECT_EQ(again.delays.front().rank, 0);
  EXPECT_EQ(again.timeout_seconds, 300);
  settings.delays.pop_back();
  EXPECT_EQ(without_losses(settings, 300), settings) << "nothing was lost on purpose";
}

TEST(Faults, ATrainingThatLosesARankRestartsFromItsCheckpoint) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                       ("checkpoints of a lost rank " + std::to_string(getpid()));
  const double begin = now_seconds();
  StudioHarness harness;
  harness.wait_until_at_rest();
  TrainChoices& choices = harness.view().of<TrainView>().single;
  choices.layers = 1;
  choices.batch = 2;
  choices.seq = 16;
  choices.steps = 1000;
  choices.checkpoint_every = 10;
  // No step of a sound rank takes as long as the studio's start did, also where ranks wait for a core.
  choices.timeout_seconds = std::max(1.0, now_seconds() - begin);
  harness.view().of<TrainView>().checkpoints = folder.string();
  harness.view().tab = Tab::Train;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  TrainingSession& training = harness.studio().training();
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  ASSERT_TRUE(harness.draw_until([&] {
    const auto now = training.snapshot();
    return !now->curves.empty() && now->curves.front()->saved_step >= 20;
  }));
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Train/train.lose_rank");
    person.Yield(2);
    IM_CHECK(person.ItemExists("//Message/Close"));  // what one waits for until it is given up
  });
  ASSERT_TRUE(harness.draw_until([&] { return training.snapshot()->state == TrainState::Failed; }));
  EXPECT_FALSE(is_shown("Message")) << "it waits for nothing any more";
  const auto failed = training.snapshot();
  const TrainCurve* curve = failed_curve(*failed);
  ASSERT_NE(curve, nullptr);
  EXPECT_THAT(curve->failure->ranks, ElementsAre(1));
  EXPECT_THAT(curve->ended, StartsWith("rank 1 is lost"));
  const int64_t saved = curve->saved_step;
  const auto done = static_cast<int64_t>(curve->steps.size());
  EXPECT_GE(saved, 20);
  EXPECT_LE(saved, done);
  EXPECT_EQ(restart_words(*failed), "Restart from step " + std::to_string(saved));

  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Training fault strip/Close"); });
  harness.draw_frames(2);
  EXPECT_FALSE(is_shown("Training fault strip"));
  harness.view().of<FaultView>().training_closed = false;
  harness.draw_frames(2);

  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Training fault strip/Show"); });
  ASSERT_TRUE(harness.draw_until([&] { return training.snapshot()->frozen != nullptr; }));
  EXPECT_EQ(training.snapshot()->frozen->step, done + 1);
  ASSERT_NE(shown_failure(harness.snapshot()), nullptr) << "Stage and Timeline show the step that ended";
  EXPECT_TRUE(tracks_of(harness.snapshot()).failure.has_value());

  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Training fault strip/train.restart"); });
  ASSERT_TRUE(harness.draw_until([&] {
    const auto now = training.snapshot();
    return now->state == TrainState::Running && !now->curves.empty() &&
           static_cast<int64_t>(now->curves.front()->steps.size()) > saved;
  }));
  const auto now = training.snapshot();
  const TrainCurve& again = *now->curves.front();
  EXPECT_EQ(failed_curve(*now), nullptr);
  ASSERT_GT(static_cast<int64_t>(again.steps.size()), saved);
  for (size_t i = 0; i < again.steps.size(); ++i)
    EXPECT_EQ(again.steps[i]->report.step, static_cast<int64_t>(i) + 1) << "one curve without a gap";
  EXPECT_EQ(again.steps[static_cast<size_t>(saved - 1)], curve->steps[static_cast<size_t>(saved - 1)]);
  for (int64_t step = saved; step < std::min(done, static_cast<int64_t>(again.steps.size())); ++step)
    EXPECT_EQ(again.steps[static_cast<size_t>(step)]->report.loss,
              curve->steps[static_cast<size_t>(step)]->report.loss)
        << "the same bits as the run that was lost, step " << step + 1;
  training.send(train_command::Stop{});
  training.wait_until_idle(kTimeoutSeconds);
  std::filesystem::remove_all(folder);
}

}  // namespace faults_test
}  // namespace shardlens::ui
