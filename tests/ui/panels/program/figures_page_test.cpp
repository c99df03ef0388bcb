// A simulated user on the page of the texts' figures: a click on a row applies the settings of the exact
// number and opens the page that has it.
#include <gmock/gmock.h>
#include <imgui.h>

#include <algorithm>

#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/outbox.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/figures_view.h"
#include "ui/panels/program/program_view.h"
#include "ui/panels/scaling/scaling_view.h"

namespace shardlens::ui {
namespace figures_page_test {

using ::testing::HasSubstr;

void open_figures(StudioHarness& harness) {
  harness.wait_until_at_rest();
  harness.view().tab = Tab::Program;
  harness.view().of<ProgramView>().page = ProgramPage::Figures;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  harness.view().of<FiguresView>().figures->get();
  harness.draw_frames(4);
}

const WorkedFigure& figure(StudioHarness& harness, const std::string& what) {
  const std::vector<WorkedFigure>& all = harness.view().of<FiguresView>().figures->get();
  const auto found = std::find_if(all.begin(), all.end(), [&](const WorkedFigure& one) {
    return one.what.find(what) != std::string::npos;
  });
  if (found == all.end()) throw std::logic_error("no figure " + what);
  return *found;
}

/// Clicks on the row of a figure, wherever the list has it.
void click_row(StudioHarness& harness, const std::string& what) {
  std::string id;
  for (const char letter : figure(harness, what).what) {  // a slash in a name is no step of a path
    if (letter == '/') id += '\\';
    id += letter;
  }
  const std::string text = figure(harness, what).source;
  harness.perform([&](ImGuiTestContext& person) {  // the figures of one text are all on the screen
    person.ItemClick(("//Program/text/" + text.substr(0, text.find(','))).c_str());
    person.ItemClick(("//Program/**/" + id).c_str());
  });
  harness.draw_frames(4);
}

TEST(FiguresPage, ARowOpensTheTrafficOfItsSettingsAndUndoGoesBack) {
  StudioHarness harness;
  open_figures(harness);
  const Settings before = harness.view().wanted.settings(harness.snapshot());
  click_row(harness, "sequence parallelism against");
  EXPECT_EQ(harness.view().tab, Tab::Traffic);
  const Settings now = harness.view().wanted.settings(harness.snapshot());
  EXPECT_EQ(now.split.name, "megatron-sp");
  EXPECT_EQ(now.tp, 8);
  EXPECT_EQ(now.model.hidden, 4096);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Z); });
  harness.draw_frames(2);
  EXPECT_EQ(harness.view().wanted.settings(harness.snapshot()), before);
}

TEST(FiguresPage, ARowOfTheMemoryOpensEachRanksBytes) {
  StudioHarness harness;
  open_figures(harness);
  click_row(harness, "a rank's activations at T = 8");
  EXPECT_EQ(harness.view().tab, Tab::Memory);
  EXPECT_TRUE(harness.view().of<MemoryView>().this_layer);
}

TEST(FiguresPage, ARowOfTwoNodesOpensTheBreakEvenOfItsMachine) {
  StudioHarness harness;
  open_figures(harness);
  click_row(harness, "over two nodes against T = 8 in one, H100");
  EXPECT_EQ(harness.view().tab, Tab::Scaling);
  EXPECT_EQ(harness.view().of<ScalingView>().page, ScalingPage::BreakEven);
  EXPECT_EQ(harness.view().of<ScalingView>().crossing, "h100-80gb");
}

TEST(FiguresPage, TheSkippedAllReduceIsPlantedAndRun) {
  StudioHarness harness;
  open_figures(harness);
  click_row(harness, "with g's all-reduce left out");
  EXPECT_EQ(harness.view().tab, Tab::BreakIt);
  EXPECT_TRUE(harness.draw_until([&] {
    const auto now = harness.studio().breaks().snapshot();
    return now->planted == Fault::SkipG && now->report != nullptr && !now->report->steps.empty();
  }));
}

TEST(FiguresPage, ATextIsChosenAndOnlyItsFiguresAreListed) {
  StudioHarness harness({1280, 720});
  open_figures(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Program/text/textbook section"); });
  harness.draw_frames(2);
  const std::vector<std::string> words = texts_in(harness, "Program");
  EXPECT_THAT(words, ::testing::Contains("textbook section").Times(::testing::Gt(3)));
  EXPECT_THAT(words, ::testing::Contains("interactive explanation").Times(1)) << "only its choice";
}

TEST(FiguresPage, AllFiguresAreCopiedAsMarkdown) {
  StudioHarness harness;
  open_figures(harness);
  std::string copied;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Program/copy all figures/Copy");
    person.ItemClick("//$FOCUSED/as Markdown");
    copied = ImGui::GetClipboardText();
  });
  EXPECT_THAT(copied, HasSubstr("| what | text | printed |"));
  EXPECT_THAT(copied, HasSubstr("| the same total volume |"));
}

}  // namespace figures_page_test
}  // namespace shardlens::ui
