// The palette with a mouse: the wheel scrolls, a row under the pointer is chosen where it is, a click runs
// it.
#include <gmock/gmock.h>
#include <imgui_internal.h>

#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace palette_test {

TEST(Palette, TheMouseChoosesARowThatStaysWhereItIs) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  ASSERT_EQ(harness.view().theme, ThemeName::Dark);
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.Yield(4);
    ImGuiWindow* const list = person.WindowInfo("//Command palette/commands").Window;
    IM_CHECK(list != nullptr);
    const ImRect inside = list->InnerClipRect;
    person.MouseMoveToPos(inside.GetCenter());
    const ImGuiID id = person.GetID("view.theme", list->ID);
    const auto row = [&] { return person.ItemInfo(id).RectFull; };
    float before = -1;
    while (!inside.Contains(row()) && list->Scroll.y != before) {
      before = list->Scroll.y;
      person.MouseWheelY(-1);
      person.Yield(2);
    }
    IM_CHECK(inside.Contains(row()));
    const float scroll = list->Scroll.y;
    IM_CHECK_GT(scroll, 0.0f);  // the wheel scrolls
    const ImVec2 place = row().GetCenter();
    for (int i = -3; i <= 0; ++i) {
      person.MouseMoveToPos({place.x + 10.0f * static_cast<float>(i), place.y + static_cast<float>(i)});
      person.Yield(2);
      IM_CHECK_EQ(list->Scroll.y, scroll);
    }
    person.MouseClick();
    person.Yield(2);
  });
  EXPECT_EQ(harness.view().theme, ThemeName::Light) << "the click took another command";
  EXPECT_FALSE(harness.view().palette_open);
}

TEST(Palette, AKeyBringsTheChoiceIntoViewAndANewQueryBeginsAtTheTop) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMoveToPos({20, 1000});
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.Yield(4);
    ImGuiWindow* const list = person.WindowInfo("//Command palette/commands").Window;
    person.KeyPress(ImGuiKey_DownArrow, 20);
    person.Yield(2);
    IM_CHECK_GT(list->Scroll.y, 0.0f);
    IM_CHECK_LT(list->Scroll.y, 20 * 32.0f);  // no further than needed
    person.KeyChars("e");
    person.Yield(3);
    IM_CHECK_EQ(list->Scroll.y, 0.0f);
  });
}

}  // namespace palette_test
}  // namespace shardlens::ui
