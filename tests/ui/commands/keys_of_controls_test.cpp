// Everything in Setup and on the start page works without a mouse: Tab moves the keyboard to the controls,
// Escape and a click give it back to the run.
#include "ui/commands/keys_of_controls.h"

#include <imgui_internal.h>

#include "engine/record/gallery.h"
#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace keys_of_controls_test {

constexpr double kTimeoutSeconds = 60;

/// Presses Tab until the keys are at `item`; false: they never come there.
bool tab_to(ImGuiTestContext& person, const char* item) {
  const ImGuiID wanted = person.ItemInfo(item).ID;
  for (int presses = 0; presses < 80; ++presses) {
    if (ImGui::GetCurrentContext()->NavId == wanted && ImGui::GetIO().NavVisible) return true;
    person.KeyPress(ImGuiKey_Tab);
    person.Yield(3);
  }
  return false;
}

TEST(KeysOfControls, EveryKindOfFieldInSetupIsChanged) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    IM_CHECK(tab_to(person, "//Setup/T = 2"));
    person.KeyPress(ImGuiKey_Enter);
    IM_CHECK(tab_to(person, "//Setup/Sequence/##value"));
    person.KeyPress(ImGuiKey_Enter);
    person.KeyCharsReplaceEnter("23");
    person.Yield(3);
    IM_CHECK(tab_to(person, "//Setup/attn.qkv/picture"));
    person.KeyPress(ImGuiKey_Enter);
    IM_CHECK(tab_to(person, "//Setup/dtype/choice"));
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(3);
    person.KeyPress(ImGuiKey_DownArrow);
    person.KeyPress(ImGuiKey_Enter);
  });
  harness.wait_until_at_rest();
  const Settings& settings = harness.snapshot().settings;
  EXPECT_EQ(settings.tp, 2);
  EXPECT_EQ(settings.seq, 23);
  EXPECT_NE(settings.split.attn_qkv, small_settings().split.attn_qkv);
  EXPECT_EQ(settings.dtype, DType::Fp64);
}

TEST(KeysOfControls, AListThatAClickOpenedIsChosenFromByKeys) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const StepId step = harness.view().selected_step;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Setup/dtype/choice");
    person.Yield(3);
    person.KeyPress(ImGuiKey_DownArrow);
    person.Yield(3);
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(6);
    EXPECT_FALSE(ImGui::GetIO().NavVisible) << "the mouse is still in hand";
    EXPECT_EQ(harness.view().selected_step, step);
  });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.dtype, DType::Fp64);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_RightArrow);
    person.Yield(3);
  });
  EXPECT_EQ(harness.view().selected_step, step + 1) << "the keys walk again";
}

TEST(KeysOfControls, ArrowsWalkThroughTheRunUntilTabAndAfterEscape) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const StepId first = harness.view().selected_step;
  const auto step_after = [&](std::vector<ImGuiKey> keys) {
    harness.perform([&](ImGuiTestContext& person) {
      for (const ImGuiKey key : keys) {
        person.KeyPress(key);
        person.Yield(3);
      }
    });
    return harness.view().selected_step;
  };
  EXPECT_EQ(step_after({ImGuiKey_RightArrow}), first + 1);
  EXPECT_EQ(step_after({ImGuiKey_Tab, ImGuiKey_RightArrow, ImGuiKey_RightArrow}), first + 1);
  EXPECT_EQ(step_after({ImGuiKey_Escape, ImGuiKey_RightArrow}), first + 2);
  EXPECT_EQ(step_after({ImGuiKey_Tab}), first + 2);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 2"); });
  harness.draw_frames(1);  // the flag is from the beginning of a frame
  EXPECT_FALSE(ImGui::GetIO().NavVisible) << "whoever clicks has the mouse in hand";
}

// What lies below a tooltip is what who presses keys looks at.
TEST(KeysOfControls, ATooltipGoesWithAKeyAndComesBackWithTheMouse) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const auto is_shown = [] {
    for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
      if ((window->Flags & ImGuiWindowFlags_Tooltip) != 0 && window->Active && !window->Hidden) return true;
    return false;
  };
  const auto comes = [&](ImGuiTestContext& person) {
    for (int frame = 0; frame < 120 && !is_shown(); ++frame) person.Yield();
    return is_shown();
  };
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMove("//Bar/T/2");
    IM_CHECK(comes(person));
    person.KeyPress(ImGuiKey_RightArrow);
    person.Yield(3);
    IM_CHECK(!is_shown());
    const ImVec2 place = person.ItemInfo("//Bar/T/2").RectFull.GetCenter();
    person.MouseMoveToPos({place.x + 2, place.y});
    IM_CHECK(comes(person));
  });
}

TEST(KeysOfControls, ACardOfTheStartPageIsOpened) {
  StudioHarness harness;
  open_start_page(harness);
  harness.perform([&](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Start/start page").ID);
    IM_CHECK(tab_to(person, "piece:late-rank"));
    person.KeyPress(ImGuiKey_Enter);
    harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    person.Yield(4);
  });
  ASSERT_TRUE(harness.studio().replay().snapshot()->is_open());
  EXPECT_EQ(harness.studio().replay().snapshot()->recording->path, gallery_file("late-rank"));
}

TEST(KeysOfControls, TheListOfRecordingsLeavesSetupHidden) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_F11);
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
    person.Yield(4);
    person.KeyPress(ImGuiKey_Escape);
  });
  EXPECT_FALSE(is_shown("Setup"));
}

TEST(KeysOfControls, AClickInTheListOfRecordingsLeavesThemThere) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
    harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    person.Yield(4);
    person.ItemClick("//Open a recording/##path");
    IM_CHECK(tab_to(person, "//Open a recording/**/.."));
    person.KeyPress(ImGuiKey_Escape);
  });
}

TEST(KeysOfControls, AFolderIsEnteredInTheListOfRecordings) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  std::string before, after;
  const auto listed = [&] {
    harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    const auto list = harness.studio().replay().snapshot()->list;
    return list ? list->folder : std::string();
  };
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
    person.Yield(4);
    before = listed();
    person.Yield(4);
    IM_CHECK(tab_to(person, "//Open a recording/**/.."));
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(4);
    after = listed();
    person.KeyPress(ImGuiKey_Escape);
  });
  EXPECT_EQ(after, std::filesystem::path(before).parent_path());
  EXPECT_FALSE(harness.view().chooser_open);
  EXPECT_FALSE(ImGui::GetIO().NavVisible);
}

}  // namespace keys_of_controls_test
}  // namespace shardlens::ui
