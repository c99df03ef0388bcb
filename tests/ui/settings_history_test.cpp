// A change of the settings is taken back and made again, step by step; one drag is one change.
#include "ui/settings_history.h"

#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace {

Settings of_degree(int tp) {
  Settings settings;
  settings.tp = tp;
  return settings;
}

TEST(SettingsHistory, GoesBackAndForth) {
  SettingsHistory history;
  EXPECT_FALSE(history.can_undo());
  history.changed(of_degree(1), 0);
  history.changed(of_degree(2), 0);
  EXPECT_EQ(history.undo(of_degree(3)).tp, 2);
  EXPECT_EQ(history.undo(of_degree(2)).tp, 1);
  EXPECT_FALSE(history.can_undo());
  EXPECT_EQ(history.redo(of_degree(1)).tp, 2);
  EXPECT_EQ(history.redo(of_degree(2)).tp, 3);
  EXPECT_FALSE(history.can_redo());
}

TEST(SettingsHistory, ANewChangeForgetsWhatWasTakenBack) {
  SettingsHistory history;
  history.changed(of_degree(1), 0);
  history.undo(of_degree(2));
  history.changed(of_degree(1), 0);
  EXPECT_FALSE(history.can_redo());
  EXPECT_EQ(history.undo(of_degree(4)).tp, 1);
}

TEST(SettingsHistory, OneDragIsOneChange) {
  SettingsHistory history;
  for (const int tp : {1, 2, 3}) history.changed(of_degree(tp), 7.5);
  history.changed(of_degree(4), 9.5);
  EXPECT_EQ(history.undo(of_degree(6)).tp, 4);
  EXPECT_EQ(history.undo(of_degree(4)).tp, 1);
  EXPECT_FALSE(history.can_undo());
}

TEST(SettingsHistory, KeysTakeChangesBackAndMakeThemAgain) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const auto degree_after = [&](ImGuiKeyChord key) {
    harness.perform([key](ImGuiTestContext& person) { person.KeyPress(key); });
    harness.wait_until_at_rest();
    return harness.snapshot().settings.tp;
  };
  const int first = harness.snapshot().settings.tp;
  EXPECT_EQ(degree_after(ImGuiKey_2), 2);
  EXPECT_EQ(degree_after(ImGuiKey_3), 3);
  EXPECT_EQ(degree_after(ImGuiMod_Ctrl | ImGuiKey_Z), 2);
  EXPECT_EQ(degree_after(ImGuiMod_Ctrl | ImGuiKey_Z), first);
  EXPECT_EQ(degree_after(ImGuiMod_Ctrl | ImGuiKey_Z), first) << "there is nothing before it";
  EXPECT_EQ(degree_after(ImGuiMod_Ctrl | ImGuiKey_Y), 2);
  EXPECT_EQ(degree_after(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z), 3);
}

}  // namespace
}  // namespace shardlens::ui
