// The palette with a mouse: the wheel scrolls, a row under the pointer is chosen where it is, a click runs
// it.
#include <gmock/gmock.h>
#include <imgui_internal.h>

#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"

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

TEST(Palette, EveryPartIsChosenByItsName) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  for (const auto& [words, block] : {std::pair{"Part whole model", Block::Model},
                                     {"part mlp", Block::Mlp},
                                     {"attention alone", Block::Attention},
                                     {"one layer", Block::Layer}}) {
    ask_palette(harness, words);
    EXPECT_EQ(harness.snapshot().settings.block, block) << words;
  }
  ask_palette(harness, "layernorm after the sum");
  EXPECT_EQ(harness.snapshot().settings.model.norm, NormPlacement::Post);
}

// The words of a split are also words of the glossary, which explains them and changes nothing.
TEST(Palette, WhatIsAskedForIsDoneBeforeItIsExplained) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  for (const UiCommand& command : commands()) {
    if (!command.id.starts_with("settings.split.")) continue;
    const std::string name = command.id.substr(std::string("settings.split.").size());
    for (const std::string& words : {"split " + name, "Split: " + name, name + " split"}) {
      ask_palette(harness, words);
      EXPECT_EQ(harness.snapshot().settings.split.name, name) << words;
    }
  }
}

TEST(Palette, AWordThatOnlyTheGlossaryHasIsExplained) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  ask_palette(harness, "partial");
  EXPECT_THAT(texts_in(harness, "Message"),
              ::testing::Contains(::testing::HasSubstr("only one term of a sum")));
}

}  // namespace palette_test
}  // namespace shardlens::ui
