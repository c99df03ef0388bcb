// A narrow window shows one panel at a time, and a wider one goes back to what a person had arranged.
#include "ui/frame/narrow.h"

#include <gtest/gtest.h>
#include <imgui_internal.h>

#include "tests/ui/studio_harness.h"
#include "ui/lesson/lesson_view.h"

namespace shardlens::ui {
namespace narrow_test {

constexpr PixelSize kPhone{390, 844};

ImGuiWindow* window(const char* name) {
  return ImGui::FindWindowByName(name);
}

/// True if this one has the room between the Bar and the row of panels.
bool has_the_room(const char* name) {
  const ImGuiWindow* const panel = window(name);
  return is_shown(name) && !panel->Hidden && panel->Size.x == kPhone.width && panel->Size.y > 600;
}

TEST(Narrow, OnePanelAtATime) {
  StudioHarness harness(kPhone);
  harness.wait_until_at_rest();
  EXPECT_TRUE(has_the_room("Stage"));
  const auto press = [&](const char* cell) {
    harness.perform([&](ImGuiTestContext& person) {
      person.ItemClick(cell);
      person.Yield(6);
    });
  };
  for (const auto& [cell, panel] : {std::pair{"//Panels/Setup", "Setup"},
                                    {"//Panels/Inspector", "Inspector"},
                                    {"//Panels/Timeline", "Timeline"}}) {
    press(cell);
    EXPECT_TRUE(has_the_room(panel)) << panel;
    EXPECT_FALSE(has_the_room("Stage"));
  }
  press("//Panels/Timeline");
  EXPECT_TRUE(has_the_room("Stage")) << "a second press goes back to the page";
  press("//Panels/page");
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//$FOCUSED/##memory");
    person.Yield(6);
  });
  EXPECT_TRUE(has_the_room("Memory"));
  EXPECT_EQ(harness.view().tab, Tab::Memory);
}

TEST(Narrow, KeysBringPanelsToTheFrontAndATabItsPage) {
  StudioHarness harness(kPhone);
  harness.wait_until_at_rest();
  const auto press = [&](ImGuiKeyChord key) {
    harness.perform([&](ImGuiTestContext& person) {
      person.KeyPress(key);
      person.Yield(6);
    });
  };
  press(ImGuiKey_I);
  EXPECT_TRUE(has_the_room("Inspector"));
  press(ImGuiKey_T);
  EXPECT_TRUE(has_the_room("Timeline"));
  press(ImGuiMod_Ctrl | ImGuiKey_4);
  EXPECT_TRUE(has_the_room("Traffic"));
}

TEST(Narrow, AWiderWindowHasItsPanelsAsTheyWere) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  const auto widths = [] {
    return std::array{window("Setup")->Size.x, window("Stage")->Size.x, window("Inspector")->Size.x};
  };
  const auto narrow_and_wide = [&] {
    harness.platform().resize(kPhone);
    harness.draw_frames(8);
    EXPECT_TRUE(has_the_room("Stage"));
    harness.platform().resize({1280, 720});
    harness.draw_frames(12);
  };
  const auto first = widths();
  narrow_and_wide();
  EXPECT_EQ(widths(), first);
  // A person makes Setup wider.
  ImGuiDockNode* const setup = window("Setup")->DockNode;
  ImGui::DockBuilderSetNodeSize(setup->ID, {setup->Size.x + 60, setup->Size.y});
  harness.draw_frames(8);
  const auto arranged = widths();
  EXPECT_NE(arranged, first);
  narrow_and_wide();
  EXPECT_EQ(widths(), arranged);
}

TEST(Narrow, ALessonsCardStandsAboveThePage) {
  StudioHarness harness(kPhone);
  harness.studio().open_lesson("column-then-row", 0);
  harness.draw_until([&] { return harness.studio().lesson_is_settled(); });
  const ImGuiWindow* const card = window("Lesson");
  EXPECT_EQ(card->Size.x, kPhone.width);
  EXPECT_EQ(window("Stage")->Pos.y, card->Pos.y + card->Size.y);
  const float height = card->Size.y;
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Lesson/height of card");
    person.Yield(6);
  });
  EXPECT_GT(card->Size.y, height);
  EXPECT_EQ(window("Stage")->Pos.y, card->Pos.y + card->Size.y);
}

}  // namespace narrow_test
}  // namespace shardlens::ui
