// A simulated user in the laboratory "What a sum allows": clicks and keys choose an operation, a layout, T
// and a variant, and the page shows what was run.
#include <gmock/gmock.h>
#include <imgui.h>

#include <algorithm>

#include "tests/ui/studio_harness.h"
#include "ui/panels/program/algebra_view.h"
#include "ui/panels/program/program_view.h"

namespace shardlens::ui {
namespace algebra_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

void open_laboratory(StudioHarness& harness) {
  harness.wait_until_at_rest();
  harness.view().tab = Tab::Program;
  harness.view().of<ProgramView>().page = ProgramPage::Algebra;
  harness.view().focus_tab = true;
  harness.draw_frames(60);  // the list is filled by a few runs a frame
}

std::string text_of_page(StudioHarness& harness) {
  std::string all;
  for (const std::string& words : texts_in(harness, "Program")) all += words + "\n";
  return all;
}

const lab::Way& shown(StudioHarness& harness) {
  return harness.view().of<AlgebraView>().shown_way();
}

TEST(AlgebraPage, APersonFindsTheThreeWaysToAddABias) {
  StudioHarness harness;
  open_laboratory(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Program/**/bias/Partial"); });
  EXPECT_EQ(harness.view().of<AlgebraView>().shown_experiment().name, "bias");
  EXPECT_THAT(text_of_page(harness), AllOf(HasSubstr("Wrong: "), HasSubstr("T times")));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Program/way/b on rank 0 alone"); });
  EXPECT_EQ(shown(harness).name, "b on rank 0 alone");
  EXPECT_THAT(text_of_page(harness), AllOf(HasSubstr("Right, up to rounding"), Not(HasSubstr("Wrong:"))));
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Program/way/b\\/T on every rank");
    person.ItemClick("//Program/T/8");
  });
  EXPECT_EQ(shown(harness).name, "b/T on every rank");
  EXPECT_EQ(harness.view().of<AlgebraView>().ranks, 8);
  EXPECT_THAT(texts_in(harness, "Program"), Contains("rank 7").Times(2));
}

TEST(AlgebraPage, TheLayoutIsChosenByClicks) {
  StudioHarness harness;
  open_laboratory(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Program/**/GeLU");
    person.ItemClick("//Program/layout/Sharded(1): by columns");
  });
  EXPECT_EQ(shown(harness).layout, sharded(1));
  EXPECT_THAT(text_of_page(harness), HasSubstr("Exact: no number differs."));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Program/**/GeLU/Partial"); });
  EXPECT_EQ(shown(harness).layout, kPartial);
  EXPECT_THAT(text_of_page(harness), HasSubstr("GeLU is not linear"));
}

TEST(AlgebraPage, ArrowKeysGoThroughOperationsAndWays) {
  StudioHarness harness;
  open_laboratory(harness);
  const StepId selected = harness.view().selected_step;
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_DownArrow);
    person.KeyPress(ImGuiKey_RightArrow);
  });
  const AlgebraView& view = harness.view().of<AlgebraView>();
  EXPECT_EQ(view.experiment, 1u);
  EXPECT_EQ(view.way, 1u);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_UpArrow);
    person.KeyPress(ImGuiKey_UpArrow);
    person.KeyPress(ImGuiKey_LeftArrow);
  });
  EXPECT_EQ(view.experiment, 0u) << "there is nothing before the first";
  EXPECT_EQ(view.way, 0u);
  EXPECT_EQ(harness.view().selected_step, selected) << "the run's steps are not walked through meanwhile";
}

TEST(AlgebraPage, TheCommandOpensItAndThePagesAreChosenByClicks) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyCharsAppend("what a sum");
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(6);
  });
  EXPECT_EQ(harness.view().tab, Tab::Program);
  EXPECT_EQ(harness.view().of<ProgramView>().page, ProgramPage::Algebra);
  EXPECT_FALSE(is_shown("Inspector"));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Program/page/steps"); });
  EXPECT_EQ(harness.view().of<ProgramView>().page, ProgramPage::Steps);
  harness.draw_frames(4);
  EXPECT_TRUE(is_shown("Inspector"));
}

TEST(AlgebraPage, AClickOnAResultReadsItsNumber) {
  StudioHarness harness;
  open_laboratory(harness);
  AlgebraView& view = harness.view().of<AlgebraView>();
  harness.perform([](ImGuiTestContext& person) {
    const ImRect whole = person.ItemInfo("//Program/f/difference").RectFull;
    const float cell = whole.GetWidth() / lab::kHidden;
    person.MouseMoveToPos({whole.Min.x + 5.5f * cell, whole.Min.y + 3.5f * cell});
    person.MouseClick();
  });
  EXPECT_EQ(view.row, 3);
  EXPECT_EQ(view.col, 5);
}

TEST(AlgebraPage, TheListSaysWhatTheRunsFound) {
  StudioHarness harness;
  open_laboratory(harness);
  const std::vector<std::string> words = texts_in(harness, "Program");
  EXPECT_THAT(words, Not(Contains("…")));
  // Of the list, as it begins: product, then bias, which depends on how it is added.
  EXPECT_THAT(words, Contains("depends"));
  AlgebraRuns& runs = harness.view().of<AlgebraRuns>();
  for (size_t e = 0; e < lab::experiments().size(); ++e)
    for (size_t w = 0; w < lab::experiments()[e].ways.size(); ++w)
      EXPECT_TRUE(runs.has(e, w, harness.view().of<AlgebraView>().ranks));
}

}  // namespace algebra_test
}  // namespace shardlens::ui
