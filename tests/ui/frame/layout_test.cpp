// Which panels are shown next to the centre, and how much of the window they take: chosen by keys, and in a
// small window by the open tab.
#include "ui/frame/layout.h"

#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

TEST(Panels, OnlyAPageWhereStepsCanBeSelectedHasInspectorAndTimeline) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    for (const auto& [key, panels] : {std::pair{ImGuiKey_1, kNoPanels},
                                      {ImGuiKey_2, kAllPanels},
                                      {ImGuiKey_3, kOnlySetup},
                                      {ImGuiKey_4, kAllPanels},
                                      {ImGuiKey_5, kOnlySetup},
                                      {ImGuiKey_6, kAllPanels},
                                      {ImGuiKey_7, kNoPanels},
                                      {ImGuiKey_8, kAllPanels}}) {
      press(person, ImGuiMod_Ctrl | key);
      const std::string tab = names_of(harness.view().tab).window;
      EXPECT_EQ(is_shown("Setup"), panels.setup) << tab;
      EXPECT_EQ(is_shown("Inspector"), panels.inspector) << tab;
      EXPECT_EQ(is_shown("Timeline"), panels.timeline) << tab;
    }
    press(person, ImGuiMod_Ctrl | ImGuiKey_3);
    person.ItemClick("//Memory/page/this layer");
    person.Yield(8);
    EXPECT_TRUE(is_shown("Inspector") && is_shown("Timeline")) << "its steps can be selected";
    press(person, ImGuiMod_Ctrl | ImGuiKey_6);
    person.ItemClick("//Compare/page/tournament");
    person.Yield(8);
    EXPECT_FALSE(is_shown("Inspector") || is_shown("Timeline"));
  });
}

TEST(Panels, SetupStandsOnlyBesidePagesThatItChanges) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    for (const auto& [key, with, without] :
         {std::tuple{ImGuiKey_3, "//Memory/page/whole model", "//Memory/page/this machine"},
          {ImGuiKey_5, "//Scaling/page/strong", "//Scaling/page/cluster"},
          {ImGuiKey_6, "//Compare/page/tournament", "//Compare/page/recordings"}}) {
      press(person, ImGuiMod_Ctrl | key);
      person.ItemClick(without);
      person.Yield(8);
      EXPECT_FALSE(is_shown("Setup")) << without;
      person.ItemClick(with);
      person.Yield(8);
      EXPECT_TRUE(is_shown("Setup")) << with;
    }
  });
}

TEST(Panels, InLectureModeEveryPageHasTheWindowAndKeysBringTheRest) {
  for (const PixelSize size : {PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
    StudioHarness harness(size);
    harness.wait_until_at_rest();
    harness.perform([&](ImGuiTestContext& person) {
      press(person, ImGuiKey_F11);
      for (const TabNames& names : kTabs) {
        press(person, ImGuiMod_Ctrl | static_cast<ImGuiKey>(ImGuiKey_1 + static_cast<int>(names.tab)));
        EXPECT_EQ(window(names.window)->Size.x, static_cast<float>(size.width)) << names.window;
        EXPECT_EQ(window(names.window)->Pos.y + window(names.window)->Size.y,
                  static_cast<float>(size.height));
      }
      press(person, ImGuiMod_Ctrl | ImGuiKey_2);
      press(person, ImGuiKey_T);
      EXPECT_TRUE(is_shown("Timeline") && !is_shown("Inspector") && !is_shown("Setup"));
      press(person, ImGuiKey_U);
      EXPECT_TRUE(is_shown("Setup"));
      press(person, ImGuiKey_I);
      EXPECT_TRUE(is_shown("Inspector") && !harness.view().wide_inspector);
      press(person, ImGuiMod_Ctrl | ImGuiKey_4);
      EXPECT_FALSE(is_shown("Inspector") || is_shown("Timeline")) << "asked for beside the Stage only";
      press(person, ImGuiMod_Ctrl | ImGuiKey_2);
      EXPECT_TRUE(is_shown("Inspector") && is_shown("Timeline"));
      press(person, ImGuiKey_I);
      EXPECT_TRUE(harness.view().wide_inspector);
      press(person, ImGuiKey_I);
      EXPECT_FALSE(is_shown("Inspector")) << "and it goes again";
      press(person, ImGuiKey_T);
      press(person, ImGuiKey_U);
      EXPECT_EQ(window("Stage")->Size.x, static_cast<float>(size.width));
    });
  }
}

TEST(Panels, AKeyBringsAPanelBesideAPageThatDoesNotNeedIt) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    press(person, ImGuiMod_Ctrl | ImGuiKey_5);
    press(person, ImGuiKey_T);
    EXPECT_TRUE(is_shown("Timeline"));
    press(person, ImGuiKey_T);
    EXPECT_FALSE(is_shown("Timeline"));
    press(person, ImGuiMod_Ctrl | ImGuiKey_2);
    EXPECT_TRUE(is_shown("Timeline")) << "the Stage's own was not hidden";
  });
}

TEST(Panels, UndoSaysWhatItChangedBesideTheTabs) {
  for (const PixelSize size : {PixelSize{1920, 1080}, PixelSize{640, 480}}) {
    StudioHarness harness(size);
    harness.wait_until_at_rest();
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_2); });
    harness.wait_until_at_rest();
    harness.perform([](ImGuiTestContext& person) {
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_5);
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Z);
      person.Yield(4);
    });
    std::vector<std::string> shown;
    for (const mark::Words& words : words_on_screen(harness)) shown.push_back(words.text);
    EXPECT_EQ(std::count(shown.begin(), shown.end(), "Undone: T = 4"), 1) << "in a window of " << size.width;
  }
}

}  // namespace layout_test
}  // namespace shardlens::ui
