// Which panels are shown next to the centre, and how much of the window they take: chosen by keys, and in a
// small window by the open tab.
#include "ui/frame/layout.h"

#include <gtest/gtest.h>
#include <imgui_internal.h>

#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace layout_test {

ImGuiWindow* window(const char* name) {
  return ImGui::FindWindowByName(name);
}

TEST(Panels, TheTimelineGivesItsRoomToTheTabAndTakesItBack) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  const float stage = window("Stage")->Size.y, timeline = window("Timeline")->Size.y;
  const auto press_t = [](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_T);
    person.Yield(6);
  };
  harness.perform(press_t);
  EXPECT_FALSE(is_shown("Timeline"));
  EXPECT_GE(window("Stage")->Size.y, stage + timeline - 24) << "its name stays at the lower edge";
  harness.perform(press_t);
  EXPECT_TRUE(is_shown("Timeline"));
  EXPECT_EQ(window("Timeline")->Size.y, timeline);
  EXPECT_EQ(window("Stage")->Size.y, stage);
}

TEST(Panels, AMarkBesideItsNameFoldsTheTimelineAndAClickOnTheNameUnfoldsIt) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Timeline/hide");
    person.Yield(6);
    EXPECT_FALSE(is_shown("Timeline"));
    person.ItemClick("//Folded timeline/unfold");
    person.Yield(6);
    EXPECT_TRUE(is_shown("Timeline"));
    EXPECT_FALSE(is_shown("Folded timeline"));
  });
}

TEST(Panels, SetupLeavesAnEdgeToBeShownAgainByAndALectureHasNone) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    const float stage = window("Stage")->Pos.x;
    person.KeyPress(ImGuiKey_U);
    person.Yield(6);
    EXPECT_FALSE(is_shown("Setup"));
    EXPECT_EQ(window("Stage")->Pos.x, window("Folded setup")->Size.x) << "the Stage begins behind it";
    person.ItemClick("//Folded setup/unfold");
    person.Yield(6);
    EXPECT_TRUE(is_shown("Setup"));
    EXPECT_FALSE(is_shown("Folded setup"));
    EXPECT_EQ(window("Stage")->Pos.x, stage);
    person.KeyPress(ImGuiKey_F11);
    person.Yield(8);
    EXPECT_FALSE(is_shown("Setup"));
    EXPECT_FALSE(is_shown("Folded setup"));
  });
}

/// Presses a key, and draws until the panels stand.
void press(ImGuiTestContext& person, ImGuiKeyChord key) {
  person.KeyPress(key);
  person.Yield(8);
}

TEST(Panels, InASmallWindowAPageOfItsOwnSubjectHasTheRoomOfAll) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    press(person, ImGuiMod_Ctrl | ImGuiKey_3);
    EXPECT_TRUE(is_shown("Inspector") && is_shown("Timeline")) << "there is room for both";
    press(person, ImGuiKey_F11);
    EXPECT_FALSE(is_shown("Inspector") || is_shown("Timeline"));
    EXPECT_EQ(window("Memory")->Size.x, 1280);
    press(person, ImGuiMod_Ctrl | ImGuiKey_2);
    EXPECT_TRUE(is_shown("Inspector") && is_shown("Timeline"));
    EXPECT_TRUE(is_shown("Stage")) << "the panels that came took the focus from it";
    EXPECT_EQ(harness.view().tab, Tab::Stage);
  });
}

TEST(Panels, TShowsTheTimelineBesideAPageThatHadItsRoom) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    press(person, ImGuiKey_F11);
    press(person, ImGuiMod_Ctrl | ImGuiKey_3);
    ASSERT_FALSE(is_shown("Timeline"));
    press(person, ImGuiKey_T);
    EXPECT_TRUE(is_shown("Timeline") && is_shown("Inspector"));
    press(person, ImGuiKey_T);
    EXPECT_FALSE(is_shown("Timeline") || is_shown("Inspector")) << "as it was before";
    press(person, ImGuiMod_Ctrl | ImGuiKey_2);
    EXPECT_TRUE(is_shown("Timeline")) << "the Stage's own was not hidden";
    press(person, ImGuiKey_T);
    press(person, ImGuiMod_Ctrl | ImGuiKey_3);
    EXPECT_FALSE(is_shown("Timeline") || is_shown("Inspector"));
    press(person, ImGuiKey_I);
    EXPECT_TRUE(is_shown("Inspector"));
    EXPECT_FALSE(harness.view().wide_inspector) << "it was asked for, not yet widened";
  });
}

}  // namespace layout_test
}  // namespace shardlens::ui
