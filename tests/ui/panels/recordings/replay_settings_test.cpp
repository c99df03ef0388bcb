// Opening a recording does not lose the settings that the user chose: they are kept and come back.
#include <gmock/gmock.h>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "tests/ui/panels/recordings/replay_tab.h"
#include "ui/panels/setup/delay_view.h"

namespace shardlens::ui {
namespace replay_settings_test {

using ::testing::HasSubstr;

class ReplaySettings : public ReplayTab {
 protected:
  void press(ImGuiKeyChord key) {
    harness_.perform([key](ImGuiTestContext& person) { person.KeyPress(key); });
    harness_.wait_until_at_rest();
  }
  void close() {
    press(ImGuiMod_Ctrl | ImGuiKey_W);
    ASSERT_TRUE(drawn_until(harness_, [](const ReplaySnapshot& replay) { return !replay.is_open(); }));
    harness_.wait_until_at_rest();
  }
  bool says_something() {
    bool says = false;
    harness_.perform([&](ImGuiTestContext& person) { says = person.ItemExists("//Message/Close"); });
    return says;
  }

  StudioHarness harness_;
};

TEST_F(ReplaySettings, NothingIsTakenBackWhileItIsOpen) {
  harness_.wait_until_at_rest();
  press(ImGuiKey_2);
  ASSERT_TRUE(open(harness_, record()));
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(harness_.snapshot().settings.model.vocab, 53) << "the recording's";
  close();
  EXPECT_EQ(harness_.snapshot().settings.tp, 2);
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(harness_.snapshot().settings, small_settings());
  press(ImGuiMod_Ctrl | ImGuiKey_Y);
  EXPECT_EQ(harness_.snapshot().settings.tp, 2);
}

TEST_F(ReplaySettings, WhatRanBeforeTheyRanHereComesBack) {
  ASSERT_TRUE(open(harness_, record()));
  const Settings recorded = harness_.snapshot().settings;
  harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Replay/replay.run_here"); });
  ASSERT_TRUE(drawn_until(harness_, [&](const ReplaySnapshot&) { return harness_.studio().has_beside(); }));
  close();
  EXPECT_EQ(harness_.snapshot().settings, recorded);
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(harness_.snapshot().settings, small_settings());
}

TEST_F(ReplaySettings, RunningThemHereGivesAMeasurementUp) {
  ASSERT_TRUE(open(harness_, record()));
  Settings large = small_settings();
  large.model.hidden = 1536;
  large.model.ffn = 6144;
  large.seq = 512;
  ScalingSession& scaling = harness_.studio().scaling();
  scaling.send(scaling_command::Measure{large});
  ASSERT_TRUE(harness_.draw_until([&] { return scaling.snapshot()->measures(); }));
  harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Replay/replay.run_here"); });
  scaling.wait_until_idle(kTimeoutSeconds);
  EXPECT_THAT(scaling.snapshot()->message, HasSubstr("share the cores"));
}

TEST_F(ReplaySettings, AClickElsewhereThatWouldChangeThemSaysWhyTheyStay) {
  harness_.studio().open_recording("gallery:late-rank");
  ASSERT_TRUE(drawn_until(harness_, [](const ReplaySnapshot& replay) { return replay.is_open(); }));
  harness_.view().tab = Tab::BreakIt;
  harness_.view().focus_tab = true;
  harness_.draw_frames(4);
  harness_.studio().breaks().wait_until_idle(kTimeoutSeconds);  // which mistakes are possible here
  harness_.draw_frames(4);
  ASSERT_FALSE(says_something());
  harness_.perform([](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Break it/faults").ID);
    person.ItemClick("lose");
  });
  EXPECT_TRUE(says_something());
}

TEST_F(ReplaySettings, NoRankIsLostOfWhatIsRecorded) {
  ASSERT_TRUE(open(harness_, record()));
  harness_.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("lose the sel");
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(2);
  });
  EXPECT_FALSE(harness_.view().palette_open);
  EXPECT_TRUE(says_something()) << "that the recording stays as it is";
  EXPECT_LT(harness_.view().of<DelayView>().timeout_before_seconds, 0);
}

}  // namespace replay_settings_test
}  // namespace shardlens::ui
