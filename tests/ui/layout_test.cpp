// Which panels stand beside the centre, and how much of the window they take: asked for by keys, and by the
// tab that is open where the window is small.
#include "ui/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace {

using ::testing::Contains;
using ::testing::Not;

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
  EXPECT_GE(window("Stage")->Size.y, stage + timeline);
  harness.perform(press_t);
  EXPECT_TRUE(is_shown("Timeline"));
  EXPECT_EQ(window("Timeline")->Size.y, timeline);
  EXPECT_EQ(window("Stage")->Size.y, stage);
}

TEST(Panels, AMarkBesideItsNameHidesTheTimelineAndTheTabsSayHowItComesBack) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  EXPECT_THAT(texts_in(harness, "##dock host"), Not(Contains("T shows the Timeline")));
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Timeline/hide");
    person.Yield(6);
  });
  EXPECT_FALSE(is_shown("Timeline"));
  EXPECT_THAT(texts_in(harness, "##dock host"), Contains("T shows the Timeline"));
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
    press(person, ImGuiMod_Ctrl | ImGuiKey_2);
    EXPECT_TRUE(is_shown("Inspector") && is_shown("Timeline")) << "there is room for both";
    press(person, ImGuiKey_F11);
    EXPECT_FALSE(is_shown("Inspector") || is_shown("Timeline"));
    EXPECT_EQ(window("Memory")->Size.x, 1280);
    press(person, ImGuiMod_Ctrl | ImGuiKey_1);
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
    press(person, ImGuiMod_Ctrl | ImGuiKey_2);
    ASSERT_FALSE(is_shown("Timeline"));
    press(person, ImGuiKey_T);
    EXPECT_TRUE(is_shown("Timeline") && is_shown("Inspector"));
    press(person, ImGuiKey_T);
    EXPECT_FALSE(is_shown("Timeline"));
    EXPECT_TRUE(is_shown("Inspector"));
    press(person, ImGuiKey_F11);
    press(person, ImGuiKey_F11);
    EXPECT_FALSE(is_shown("Inspector")) << "another lecture begins as the first did";
    press(person, ImGuiKey_I);
    EXPECT_TRUE(is_shown("Inspector"));
    EXPECT_FALSE(harness.view().wide_inspector) << "it was asked for, not yet widened";
  });
}

}  // namespace
}  // namespace shardlens::ui
