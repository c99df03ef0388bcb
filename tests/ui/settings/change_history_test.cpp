// A change of the settings is undone and redone, step by step; one drag is one change.
#include "ui/settings/change_history.h"

#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace change_history_test {

Settings of_degree(int tp) {
  Settings settings;
  settings.tp = tp;
  return settings;
}

TEST(ChangeHistory, GoesBackAndForth) {
  ChangeHistory<Settings> history;
  history.chose(of_degree(1), 0);
  EXPECT_FALSE(history.can_undo());
  history.chose(of_degree(2), 0);
  history.chose(of_degree(3), 0);
  for (const int tp : {2, 1}) {
    EXPECT_EQ(history.undo().tp, tp);
    history.chose(of_degree(tp), 0);  // as it is asked to
  }
  EXPECT_FALSE(history.can_undo());
  EXPECT_EQ(history.redo().tp, 2);
  EXPECT_EQ(history.redo().tp, 3);
  EXPECT_FALSE(history.can_redo());
}

TEST(ChangeHistory, ANewChangeForgetsWhatWasTakenBack) {
  ChangeHistory<Settings> history;
  for (const int tp : {1, 2}) history.chose(of_degree(tp), 0);
  history.undo();
  history.chose(of_degree(4), 0);
  EXPECT_FALSE(history.can_redo());
  EXPECT_EQ(history.undo().tp, 1);
}

TEST(ChangeHistory, OneDragIsOneChange) {
  ChangeHistory<Settings> history;
  history.chose(of_degree(1), 0);
  for (const int tp : {2, 3, 4}) history.chose(of_degree(tp), 7.5);
  history.chose(of_degree(6), 9.5);
  EXPECT_EQ(history.undo().tp, 4);
  EXPECT_EQ(history.undo().tp, 1);
  EXPECT_FALSE(history.can_undo());
}

TEST(ChangeHistory, PassesOverWhatWasRefused) {
  ChangeHistory<Settings> history;
  for (const int tp : {1, 2, 5}) history.chose(of_degree(tp), 0);
  history.refused(of_degree(5));
  EXPECT_FALSE(history.can_redo());
  EXPECT_EQ(history.undo().tp, 2) << "the settings that ran";
  history.chose(of_degree(7), 0);
  history.refused(of_degree(7));
  history.chose(of_degree(4), 0);
  EXPECT_EQ(history.undo().tp, 2) << "7 never ran";
  EXPECT_EQ(history.redo().tp, 4);
  history.refused(of_degree(2));
  EXPECT_EQ(history.undo().tp, 2) << "only the present value can be refused";
}

TEST(ChangeHistory, NothingIsBeforeTheFirstThatRan) {
  ChangeHistory<Settings> history;
  history.chose(of_degree(5), 0);
  history.refused(of_degree(5));
  EXPECT_FALSE(history.can_undo());
  history.chose(of_degree(4), 0);
  EXPECT_FALSE(history.can_undo());
}

TEST(ChangeHistory, KeysTakeChangesBackAndMakeThemAgain) {
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

}  // namespace change_history_test
}  // namespace shardlens::ui
