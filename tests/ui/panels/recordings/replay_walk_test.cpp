// A simulated user goes through a recording and plays it: from pass to pass, from step to step, by the clock.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "engine/base/worker.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/panels/recordings/replay_tab.h"
#include "ui/commands/commands.h"
#include "ui/panels/inspector/inspector_view.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/panels/recordings/replay_view.h"

namespace shardlens::ui {
namespace replay_walk_test {

using ::testing::HasSubstr;

TEST_F(ReplayTab, KeysAndButtonsGoFromPassToPass) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  const auto at = [&](ImGuiKeyChord key) {
    harness.perform([&](ImGuiTestContext& person) { person.KeyPress(key); });
    settle(harness);
    return harness.studio().replayed().pass;
  };
  EXPECT_EQ(harness.studio().replayed().pass, 0);
  EXPECT_EQ(at(ImGuiKey_PageDown), 1);
  EXPECT_EQ(at(ImGuiKey_PageDown), 2);
  EXPECT_EQ(at(ImGuiKey_PageUp), 1);
  EXPECT_EQ(at(ImGuiMod_Ctrl | ImGuiKey_PageDown), kPasses - 1);
  EXPECT_EQ(at(ImGuiKey_PageDown), kPasses - 1);
  EXPECT_EQ(at(ImGuiMod_Ctrl | ImGuiKey_PageUp), 0);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Replay/###replay.next_pass"); });
  settle(harness);
  EXPECT_EQ(harness.studio().replayed().pass, 1);
  EXPECT_THAT(positions(harness.studio().replayed()).front(), HasSubstr("pass 1 (0–5) · "));
}

TEST_F(ReplayTab, TheStripsLineStandsStillWhileItsFiguresGrow) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  const auto place = [&](ImGuiKeyChord key) {
    ImRect line;
    harness.perform([&](ImGuiTestContext& person) {
      person.KeyPress(key);
      person.Yield(4);
    });
    settle(harness);
    harness.perform([&](ImGuiTestContext& person) { line = person.ItemInfo("//Replay/moment").RectFull; });
    return line;
  };
  const ImRect at_begin = place(ImGuiKey_Home);
  const size_t done_at_begin = harness.studio().replayed().shown->position;
  const ImRect at_end = place(ImGuiMod_Ctrl | ImGuiKey_PageDown);
  ASSERT_LT(done_at_begin, 10u);
  ASSERT_GT(harness.studio().replayed().shown->position, 10u) << "words that are longer";
  EXPECT_EQ(at_begin.Min.x, at_end.Min.x);
  EXPECT_EQ(at_begin.Max.x, at_end.Max.x);
}

TEST_F(ReplayTab, StepsAreWalkedThroughAsInARun) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_Home);
    person.KeyPress(ImGuiKey_RightArrow);
    person.KeyPress(ImGuiKey_RightArrow);
  });
  settle(harness);
  EXPECT_EQ(harness.view().selected_step, 2);
  EXPECT_EQ(harness.snapshot().position, 3u);
  EXPECT_EQ(harness.snapshot().state, RunState::Paused);
}

TEST_F(ReplayTab, TheInspectorShowsNoValuesOfAStepThatIsStillToCome) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_Home);
    person.KeyPress(ImGuiKey_RightArrow);
  });
  settle(harness);
  ASSERT_EQ(harness.snapshot().position, 2u);
  const Program& program = harness.snapshot().plan->program;
  const auto zooms = [&](StepId step) {  // only what has values can be looked into
    select_step(harness.view(), program, step);
    settle(harness);
    harness.perform([](ImGuiTestContext& person) {
      person.MouseMove("//Inspector/picture of rank 0");
      person.MouseWheelY(6);
    });
    return harness.view().of<InspectorView>().rows.size() > 0;
  };
  EXPECT_TRUE(zooms(1));
  EXPECT_FALSE(zooms(4));
}

TEST_F(ReplayTab, AfterClosingTheSelectedStepHasTheValuesOfTheRunHere) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Home); });
  harness.wait_until_at_rest();
  ASSERT_TRUE(
      open(harness, record("same.shardlens", small_settings())));  // with the same steps as the run here
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_End); });
  settle(harness);
  const StepId last = harness.view().selected_step;
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_W); });
  ASSERT_TRUE(harness.draw_until([&] { return !harness.studio().replayed().is_open(); }));
  harness.wait_until_at_rest();
  ASSERT_EQ(harness.view().selected_step, last);
  EXPECT_GT(harness.snapshot().position, static_cast<size_t>(last));
  const std::vector<std::string> texts = texts_in(harness, "Inspector");
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "not run yet"), 0);
}

TEST_F(ReplayTab, SpacePlaysByTheClockAndTheSelectionFollows) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Replay/speed");
    person.ItemClick("//$FOCUSED/1\\/100");
  });
  ASSERT_EQ(harness.view().of<ReplayView>().speed, 0.01);
  std::set<size_t> places;
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_Space);
    // It is played by the clock on the wall. A step in which the machine did something else lasts seconds at
    // this speed, the others a few milliseconds: many are seen, however fast frames are drawn.
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTimeoutSeconds);
    while (places.size() < 3 && std::chrono::steady_clock::now() < end) {
      person.Yield();
      let_workers_go_on(0.002);
      const ReplaySnapshot& replay = harness.studio().replayed();
      if (!replay.playing && replay.pass == kPasses - 1) break;
      if (replay.playing && harness.view().selected_step + 1 == static_cast<StepId>(replay.shown->position))
        places.insert(replay.shown->position);
    }
    person.KeyPress(ImGuiKey_Space);
  });
  EXPECT_GE(places.size(), 3u) << "of the steps that were played";
  settle(harness);
  EXPECT_FALSE(harness.studio().replayed().playing);
  // Faster by key, and to the end.
  harness.perform([](ImGuiTestContext& person) {
    for (int i = 0; i < 4; ++i) person.KeyPress(ImGuiKey_Period);
    person.KeyPress(ImGuiKey_Space);
  });
  ASSERT_TRUE(drawn_until(
      harness, [](const ReplaySnapshot& replay) { return !replay.playing && replay.pass == kPasses - 1; }));
  EXPECT_EQ(harness.view().of<ReplayView>().speed, 100);
  const ReplaySnapshot& ended = harness.studio().replayed();
  EXPECT_EQ(harness.view().selected_step + 1, static_cast<StepId>(ended.shown->position)) << "the last one";
}

TEST_F(ReplayTab, WhatIsPlayedBetweenTwoFramesIsFollowedToo) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Home); });
  settle(harness);
  ASSERT_LT(harness.view().selected_step, 3);
  Replay& replay = harness.studio().replay();
  replay.send(replay_command::Play{1e9});  // the whole recording, and no frame is drawn meanwhile
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTimeoutSeconds);
  const auto ended = [&] { return !replay.snapshot()->playing && replay.snapshot()->pass == kPasses - 1; };
  while (!ended() && std::chrono::steady_clock::now() < end) let_workers_go_on(0.001);
  ASSERT_TRUE(ended());
  settle(harness);
  EXPECT_EQ(harness.view().selected_step + 1,
            static_cast<StepId>(harness.studio().replayed().shown->position));
}

TEST_F(ReplayTab, StepByStepGoesOnIntoTheNextPass) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  ASSERT_EQ(harness.view().of<ReplayView>().speed, 0) << "as a run is played";
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_End);
    harness.view().playing = true;  // Space at the end begins again
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTimeoutSeconds);
    while (harness.studio().replayed().pass == 0 && std::chrono::steady_clock::now() < end) person.Yield();
  });
  EXPECT_EQ(harness.studio().replayed().pass, 1);
  EXPECT_LT(harness.view().selected_step, 3);
}

TEST_F(ReplayTab, TheLineOfTheWholeRecordingGoesToAMoment) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  const double whole = harness.studio().replayed().recording->seconds;
  harness.perform([](ImGuiTestContext& person) {
    const ImRect line = person.ItemInfo("//Replay/moment").RectFull;
    person.MouseMoveToPos({line.Min.x + 0.75f * line.GetWidth(), line.GetCenter().y});
    person.MouseClick();
  });
  settle(harness);
  EXPECT_NEAR(harness.studio().replayed().seconds, 0.75 * whole, 0.01 * whole);
  const auto steps = static_cast<StepId>(harness.studio().replayed().shown->position);
  EXPECT_EQ(harness.view().selected_step, std::max(0, steps - 1)) << "the selection goes there too";
}

TEST_F(ReplayTab, AClickOnTheCurveGoesToItsPass) {
  StudioHarness harness;
  ASSERT_TRUE(open(harness, record()));
  harness.view().tab = Tab::Train;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  ASSERT_EQ(harness.studio().replayed().metrics->rows(), static_cast<size_t>(kPasses));
  harness.perform([](ImGuiTestContext& person) {
    const ImRect plot =
        person.ItemInfo(person.GetID("##loss", person.WindowInfo("//Train/plots").ID)).RectFull;
    person.MouseMoveToPos({plot.Min.x + 0.7f * plot.GetWidth(), plot.GetCenter().y});
    person.MouseClick();
  });
  settle(harness);
  const int64_t pass = harness.studio().replayed().pass;
  EXPECT_GE(pass, 3);
  EXPECT_LE(pass, 4);
}

TEST_F(ReplayTab, WhatIsPlayedStopsWhenItIsClosed) {
  StudioHarness harness;
  harness.studio().open_recording(record());
  settle(harness);
  ASSERT_TRUE(harness.studio().replayed().is_open());
  harness.view().playing = true;
  harness.draw_frames(1);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_W); });
  ASSERT_TRUE(drawn_until(harness, [](const ReplaySnapshot& replay) { return !replay.is_open(); }));
  EXPECT_FALSE(harness.view().playing) << "the run of this machine would walk by itself";
}

}  // namespace replay_walk_test
}  // namespace shardlens::ui
