// The glossary: the palette finds a word, says what it means and goes to where it can be seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/program/program.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"
#include "ui/commands/glossary.h"

namespace shardlens::ui {
namespace glossary_test {

using ::testing::Contains;
using ::testing::HasSubstr;

const Step& selected(StudioHarness& harness) {
  return harness.snapshot().plan->program.step(harness.view().selected_step);
}

TEST(Glossary, AWordIsExplainedWhereItCanBeSeen) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  ask_palette(harness, "What is: Partial");
  EXPECT_EQ(harness.view().tab, Tab::Stage);
  ASSERT_GE(harness.view().selected_step, 0);
  const Tensor& tensor = harness.snapshot().plan->program.tensor(selected(harness).outputs.front());
  EXPECT_EQ(tensor.layout.kind, LayoutKind::Partial);
  EXPECT_FALSE(is_conversion(selected(harness).op));
  EXPECT_THAT(texts_in(harness, "Message"), Contains(HasSubstr("only one term of a sum")));
  ask_palette(harness, "What is: g");
  EXPECT_EQ(selected(harness).conjugate, Conjugate::G);
}

TEST(Glossary, AWordOfATextIsFoundInItsForms) {
  for (const char* words : {"rank", "Ranks", "ranks,", "(rank)", "rank\u2019s", "rank's"})
    EXPECT_THAT(glossary_text(words), ::testing::StartsWith("Rank: ")) << words;
  EXPECT_THAT(glossary_text("all-reduces."), ::testing::StartsWith("All-reduce: "));
  EXPECT_THAT(glossary_text("tensor parallelism"), ::testing::StartsWith("Tensor parallelism: "));
  EXPECT_THAT(glossary_text("megatron"), HasSubstr("cut by columns"));
  EXPECT_THAT(glossary_text("replicated"), ::testing::StartsWith("Replicated: "))
      << "the layout, not the split";
  EXPECT_THAT(glossary_text("\u2218"), HasSubstr("Number by number"));
  EXPECT_THAT(glossary_text("f", true), HasSubstr("before a column-parallel product"));
  for (const char* words : {"", "f", "g", "T", "—", "table", "loss", "tensor", "s", "'s"})
    EXPECT_EQ(glossary_text(words), "") << words;
}

TEST(Glossary, AnotherWordForItFindsIt) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  ask_palette(harness, "latency bandwidth");
  EXPECT_EQ(harness.view().tab, Tab::Traffic);
  EXPECT_TRUE(is_shown("Traffic")) << "the message has the focus, and the tab is in front";
  EXPECT_THAT(texts_in(harness, "Message"), Contains(HasSubstr("Alpha is what a")));
}

TEST(Glossary, WhatTheseSettingsDoNotHaveComesWithTheSplitThatHasIt) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  ask_palette(harness, "What is: Reduce-scatter");
  EXPECT_THAT(texts_in(harness, "Message"), Contains(HasSubstr("split megatron-sp")));
  ask_palette(harness, find_command("settings.split.megatron-sp").title);
  ask_palette(harness, "What is: Reduce-scatter");
  EXPECT_EQ(selected(harness).op, Op::ReduceScatter);
}

// Each word leads to another tab or to a step of its own, in the settings that the studio begins with or in
// those that it offers.
TEST(Glossary, EveryWordHasAPlace) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  for (const UiCommand& command : commands()) {
    if (command.group != CommandGroup::Glossary) continue;
    SCOPED_TRACE(command.title);
    harness.view().tab = Tab::Start;
    harness.view().focus_tab = true;
    harness.draw_frames(2);
    ask_palette(harness, command.title);
    EXPECT_NE(harness.view().tab, Tab::Start);
    EXPECT_THAT(texts_in(harness, "Message"), Contains(HasSubstr(command.help.substr(0, 20))));
  }
}

}  // namespace glossary_test
}  // namespace shardlens::ui
