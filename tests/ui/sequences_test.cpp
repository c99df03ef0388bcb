// Sequences of actions, as a user does them: after each click or key, every view must again show the right
// state.
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <string>

#include "tests/ui/studio_harness.h"
#include "ui/studio.h"

namespace shardlens::ui {
namespace sequences_test {

const Program& program_of(const StudioHarness& harness) {
  return harness.snapshot().plan->program;
}

/// How far the Stage's rows are scrolled down, in pixels.
float stage_scroll() {
  const ImGuiWindow* const rows = window_with("##stage_rows");
  return rows == nullptr ? -1 : rows->Scroll.y;
}

TEST(Sequences, AClickOnAStepThatHasNotRunYetGoesThere) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const StepId ahead = harness.view().selected_step;
  ASSERT_GE(ahead, 2);
  const auto click = [&](StepId step) {
    harness.perform([&](ImGuiTestContext& person) {
      person.ItemClick(("//Stage/**/##stage_step_" + std::to_string(step) + "_rank_1").c_str());
    });
    harness.wait_until_at_rest();
    EXPECT_EQ(harness.view().selected_step, step);
  };
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Home); });
  harness.wait_until_at_rest();
  ASSERT_EQ(harness.snapshot().position, 1u);
  click(ahead);
  EXPECT_EQ(harness.snapshot().position, static_cast<size_t>(ahead) + 1);
  click(0);
  EXPECT_EQ(harness.snapshot().position, static_cast<size_t>(ahead) + 1) << "what is done stays done";
}

TEST(Sequences, TheStageShowsTheStepThatWasSelectedElsewhere) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    const float before = stage_scroll();
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_8);
    person.Yield(4);
    select_step(harness.view(), program_of(harness),
                static_cast<StepId>(program_of(harness).steps.size()) - 1);
    person.Yield(4);
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_2);
    person.Yield(8);
    IM_CHECK(stage_scroll() > before + 200);  // the last step is far below
  });
}

TEST(Sequences, NothingInTheBarMovesWhileARunIsUnderWay) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  for (const float scale : {0.85f, 0.9f, 0.95f, 1.0f, 1.05f, 1.1f}) {  // each leaves the chips other room
    harness.view().scale = scale;
    harness.draw_frames(3);
    harness.perform([&](ImGuiTestContext& person) {
      const float rest = person.ItemInfo("//Bar/Run").RectFull.Min.x;
      const uint64_t before = harness.snapshot().version;
      person.KeyPress(ImGuiKey_R);
      while (harness.snapshot().version == before || !harness.snapshot().activity.empty()) {
        IM_CHECK_EQ(person.ItemInfo("//Bar/Run").RectFull.Min.x, rest);
        person.Yield();
      }
    });
  }
}

TEST(Sequences, InThePaletteOneTypesOnAfterWhatIsNotPossible) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("close the rec");  // none is open
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(2);
    IM_CHECK(harness.view().palette_open);
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_A);
    person.KeyChars("swthm");
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
  });
  EXPECT_FALSE(harness.view().palette_open);
  EXPECT_EQ(harness.view().theme, ThemeName::Light);
}

TEST(Sequences, ThePaletteOffersFirstWhatIsPossible) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.view().recordings = ::testing::TempDir();
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("record");  // "Close the recording" holds it too, and none is open
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
  });
  EXPECT_FALSE(harness.view().palette_open);
}

TEST(Sequences, TheTabOfAPanelThatStandsAloneIsThereWhileTheMouseIs) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    const ImGuiWindow* inspector = person.GetWindowByRef("Inspector");
    ASSERT_TRUE(inspector->DockNode->IsHiddenTabBar());
    person.MouseMoveToPos({inspector->Pos.x + 6, inspector->Pos.y + 2});
    person.MouseClick();
    person.Yield(4);
    IM_CHECK(!inspector->DockNode->IsHiddenTabBar());
    person.MouseMoveToPos({inspector->Pos.x - 200, inspector->Pos.y + 200});
    person.Yield(4);
    IM_CHECK(inspector->DockNode->IsHiddenTabBar());
  });
}

TEST(Sequences, EscapeClosesTheMessageAfterWhatLiesOnTop) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.view().said = {"something"};
  harness.draw_frames(2);
  ASSERT_TRUE(is_shown("Message"));
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyPress(ImGuiKey_Escape);
  });
  EXPECT_FALSE(harness.view().palette_open);
  EXPECT_TRUE(is_shown("Message"));
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Escape); });
  harness.draw_frames(2);
  EXPECT_FALSE(is_shown("Message"));
}

}  // namespace sequences_test
}  // namespace shardlens::ui
