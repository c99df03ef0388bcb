// A simulated user drives the Compare tab: splits are chosen, measured and stepped through together, a sweep
// is one click, and a click in the tournament runs that split.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <imgui.h>

#include <thread>

#include "engine/config/hardware_file.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/widgets/sort_order.h"

namespace shardlens::ui {
namespace compare_test {

using ::testing::HasSubstr;

constexpr double kLimitSeconds = 240;

/// Draws until the comparison has nothing to do, also what the page asks for while it is drawn.
void settle(StudioHarness& harness) {
  harness.wait_until_at_rest();
  for (int round = 0; round < 3; ++round) {
    harness.draw_frames(2);
    harness.studio().comparison().wait_until_idle(kLimitSeconds);
  }
  harness.draw_frames(2);
}

void open(StudioHarness& harness, ComparePage page) {
  harness.wait_until_at_rest();
  harness.view().tab = Tab::Compare;
  harness.view().focus_tab = true;
  harness.view().of<CompareView>().page = page;
  harness.draw_frames(4);
  settle(harness);
}

/// Clicks a line of the columns, also one that has to be scrolled to.
void click_line(ImGuiTestContext& person, const std::string& key) {
  person.SetRef(person.WindowInfo("//Compare/rows").ID);
  person.ItemClick(("##" + key).c_str());
}

std::shared_ptr<const ComparisonSnapshot> compared(StudioHarness& harness) {
  return harness.studio().comparison().snapshot();
}

TEST(CompareTab, ColumnThenRowStandsBesideRowThenColumnAndBothAreMeasuredByAClick) {
  StudioHarness harness;
  open(harness, ComparePage::Splits);
  ASSERT_TRUE(compared(harness)->trials);
  ASSERT_EQ(compared(harness)->trials->trials.size(), 2u);
  EXPECT_EQ(compared(harness)->trials->trials[0].split.name, "megatron");
  EXPECT_EQ(compared(harness)->trials->trials[1].split.name, "reversed");
  EXPECT_FALSE(compared(harness)->trials->measured());
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Compare/measure"); });
  settle(harness);
  EXPECT_TRUE(compared(harness)->trials->measured());
  EXPECT_GT(compared(harness)->trials->trials[1].measured_seconds, 0);
}

TEST(CompareTab, AThirdSplitIsChosenFromTheList) {
  StudioHarness harness;
  open(harness, ComparePage::Splits);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Compare/split 3/choice");
    person.ItemClick("//$FOCUSED/megatron-sp");
  });
  settle(harness);
  ASSERT_EQ(compared(harness)->trials->trials.size(), 3u);
  EXPECT_EQ(compared(harness)->trials->trials[2].split.name, "megatron-sp");
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Compare/split 3/choice");
    person.ItemClick("//$FOCUSED/none");
  });
  settle(harness);
  EXPECT_EQ(compared(harness)->trials->trials.size(), 2u);
}

TEST(CompareTab, AClickedLineIsSelectedInTheProgramAndWalkingMovesTheLine) {
  StudioHarness harness;
  open(harness, ComparePage::Splits);
  harness.perform([](ImGuiTestContext& person) { click_line(person, "forward converts mlp.proj.sum"); });
  const Program& program = harness.snapshot().plan->program;
  ASSERT_GE(harness.view().selected_step, 0);
  EXPECT_EQ(program.step(harness.view().selected_step).name, "all-reduce mlp.proj.sum");
  EXPECT_EQ(harness.view().of<CompareView>().row, "forward converts mlp.proj.sum");
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_RightArrow); });
  harness.draw_frames(2);
  EXPECT_EQ(harness.view().of<CompareView>().row, "forward mlp.proj bias");
  // What the program on the Stage does not have is selected here alone.
  harness.perform([](ImGuiTestContext& person) { click_line(person, "forward converts mlp.fc.sum"); });
  EXPECT_EQ(harness.view().of<CompareView>().row, "forward converts mlp.fc.sum");
}

TEST(CompareTab, OtherSettingsArePlannedAnewAndNothingOfThemIsMeasured) {
  StudioHarness harness;
  open(harness, ComparePage::Splits);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Compare/measure"); });
  settle(harness);
  ASSERT_TRUE(compared(harness)->trials->measured());
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 2"); });
  settle(harness);
  EXPECT_EQ(compared(harness)->trials->settings.tp, 2);
  EXPECT_FALSE(compared(harness)->trials->measured());
}

TEST(CompareTab, TheSplitThatRanIsThereWithItsValues) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("Split: megatron-sp");
    person.KeyPress(ImGuiKey_Enter);
  });
  open(harness, ComparePage::Splits);
  EXPECT_EQ(harness.view().of<CompareView>().splits[0], kOwnSplit) << "no column had it";
  ASSERT_EQ(compared(harness)->trials->trials[0].split.name, "megatron-sp");
  EXPECT_EQ(compared(harness)->trials->trials[0].result, nullptr) << "it was not measured here";
  int bands = 0;  // with a time in them, from the run on the Stage
  for (const std::string& text : texts_in(harness, "Compare"))
    bands +=
        text.starts_with("reduce-scatter") && text.find(" ms") + text.find(" µs") + 1 != std::string::npos;
  EXPECT_GT(bands, 0);
}

TEST(CompareTab, TheSelectedStepIsBroughtIntoView) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_End); });
  harness.wait_until_at_rest();
  harness.draw_frames(20);
  open(harness, ComparePage::Splits);
  harness.perform(
      [&](ImGuiTestContext& person) { EXPECT_GT(person.WindowInfo("//Compare/rows").Window->Scroll.y, 0); });
}

TEST(CompareTab, ASweepIsOneClick) {
  StudioHarness harness;
  open(harness, ComparePage::Splits);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Compare/page/sweep of T");
    person.ItemClick("//Compare/measure");
  });
  settle(harness);
  const auto now = compared(harness);
  ASSERT_TRUE(now->sweep);
  EXPECT_TRUE(now->sweep->agrees());
  std::vector<int> degrees;
  for (const SweepPoint& point : now->sweep->points) {
    degrees.push_back(point.tp);
    EXPECT_TRUE(point.measured) << point.tp << ": " << point.refused;
  }
  EXPECT_EQ(degrees, (std::vector<int>{1, 2, 3, 4, 6, 12})) << "all that divide twelve heads";
  std::string copied;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Compare/copy sweep/Copy");
    person.ItemClick("//$FOCUSED/as Markdown");
    copied = ImGui::GetClipboardText();
  });
  EXPECT_THAT(copied, HasSubstr("| 2 + 2 |"));
}

TEST(CompareTab, TheSweepHasACommand) {
  StudioHarness harness;
  settle(harness);
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("Sweep T");
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(3);
    EXPECT_EQ(harness.view().tab, Tab::Compare);  // the engine gives the focus back at its end
  });
  settle(harness);
  ASSERT_TRUE(compared(harness)->sweep);
  EXPECT_TRUE(compared(harness)->sweep->agrees());
}

/// Whose splits are ranked quickly.
Settings small_model() {
  Settings settings = small_settings();
  settings.model.layers = 1;
  settings.model.vocab = 300;
  return settings;
}

TEST(CompareTab, AnEntrantThatIsClickedIsTakenOverAndRun) {
  Settings settings = small_model();
  settings.tp = 2;
  StudioHarness harness({1920, 1080}, settings);
  harness.view().of<CompareView>().hardware = "a100-80gb";
  open(harness, ComparePage::Tournament);
  auto now = compared(harness);
  ASSERT_TRUE(now->tournament);
  ASSERT_EQ(now->tournament->refused, "");
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Compare/ranks/4"); });
  settle(harness);
  now = compared(harness);
  EXPECT_EQ(now->tournament->wish.ranks, 4);
  ASSERT_GE(now->tournament->tournament.listed.size(), 2u);
  // Sorted by a click on a column's name, and back.
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Compare/sort memory"); });
  EXPECT_EQ(harness.view().of<CompareView>().order, (SortOrder{5, false}));
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Compare/sort memory");
    person.ItemClick("//Compare/sort memory");
  });
  EXPECT_EQ(harness.view().of<CompareView>().order, SortOrder{});
  const size_t place = now->tournament->tournament.listed[1];
  const Entrant entrant = now->tournament->tournament.entrants[place];
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick(("//Compare/entrants/place " + std::to_string(place + 1)).c_str());
    person.Yield(3);
    EXPECT_EQ(harness.view().tab, Tab::Stage);
  });
  harness.wait_until_at_rest();
  const Settings& taken = harness.snapshot().settings;
  EXPECT_EQ(taken.tp, entrant.tp);
  EXPECT_EQ(taken.dp, entrant.dp);
  EXPECT_EQ(taken.split.mlp_fc, entrant.split.mlp_fc);
  EXPECT_EQ(taken.block, Block::Model);
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
}

// What runs here is ranked by what was measured here, in the dtype it runs in: the button leads there first.
TEST(CompareTab, TheTournamentOfThisMachineBeginsWithItsCalibrationInThisDtype) {
  const Hardware before = find_hardware("this-machine");
  Hardware known = before;  // in fp32 alone
  known.rates = {{RateKey{"linear", DType::Fp32, 2}, {{1e9, 1e10}}}};
  known.fp32_flops = 1e11;
  known.fp64_flops = 0;
  adopt_calibration(known);
  {
    Settings settings = small_model();
    StudioHarness harness({1920, 1080}, settings);
    harness.view().of<CompareView>().hardware = "this-machine";
    open(harness, ComparePage::Tournament);
    ASSERT_TRUE(compared(harness)->tournament);
    EXPECT_TRUE(compared(harness)->tournament->can_run);
    settings.dtype = DType::Fp64;
    harness.studio().session().send(command::SetSettings{settings});
    settle(harness);
    ASSERT_TRUE(compared(harness)->tournament);
    ASSERT_EQ(compared(harness)->tournament->wish.settings.dtype, DType::Fp64);
    EXPECT_FALSE(compared(harness)->tournament->can_run) << "there is no order to run the first five of";
    harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Compare/measure"); });
    EXPECT_TRUE(harness.draw_until([&] { return harness.studio().scaling().snapshot()->measures(); }));
    harness.studio().scaling().send(scaling_command::Stop{});
  }
  adopt_calibration(before);
}

TEST(CompareTab, ARowOfTheTournamentIsAsHighAsItsCuts) {
  Settings settings = small_model();
  StudioHarness harness({1280, 2400}, settings);
  harness.view().of<CompareView>().hardware = "a100-80gb";
  open(harness, ComparePage::Tournament);
  const auto now = compared(harness);
  ASSERT_EQ(now->tournament->refused, "");
  float least = 1e9f, most = 0;
  harness.perform([&](ImGuiTestContext& person) {
    for (const size_t place : now->tournament->tournament.listed) {
      const std::string row = fmt::format("//Compare/entrants/place {}", place + 1);
      const float height = person.ItemInfo(row.c_str()).RectFull.GetHeight();
      least = std::min(least, height);
      most = std::max(most, height);
    }
  });
  EXPECT_GT(most, least + 10) << "the longest take a second line";
}

/// Takes long enough to do something else meanwhile.
Settings slow_settings() {
  Settings settings = small_settings();
  settings.model.hidden = 768;
  settings.model.ffn = 3072;
  settings.batch = 8;
  settings.seq = 64;
  return settings;
}

/// Has T = 4 measured `times` times, and returns while that goes on.
void begin_measuring(StudioHarness& harness, int times) {
  harness.studio().comparison().send(
      comparison_command::SweepDegrees{slow_settings(), std::vector<int>(static_cast<size_t>(times), 4)});
  while (!compared(harness)->measuring) std::this_thread::yield();
  harness.draw_frames(2);
}

TEST(CompareTab, WhatElseRunsEndsAMeasurement) {
  StudioHarness harness({1920, 1080}, slow_settings());
  open(harness, ComparePage::Splits);
  begin_measuring(harness, 50);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 2"); });
  settle(harness);
  EXPECT_FALSE(compared(harness)->sweep->points.back().measured);
}

TEST(CompareTab, AFirstLookAtAnotherPageLeavesAMeasurementAlone) {
  StudioHarness harness({1920, 1080}, slow_settings());
  open(harness, ComparePage::Sweep);
  ASSERT_FALSE(compared(harness)->trials) << "no other page was looked at";
  begin_measuring(harness, 5);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Compare/page/tournament");
    person.Yield(3);
    person.ItemClick("//Compare/page/side by side");
    person.Yield(3);
    person.ItemClick("//Compare/page/tournament");
  });
  settle(harness);
  EXPECT_TRUE(compared(harness)->sweep->points.back().measured);
  EXPECT_TRUE(compared(harness)->tournament) << "and then it is ranked";
}

TEST(CompareTab, HasCommandsThatShowItsPages) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_6); });
  EXPECT_EQ(harness.view().tab, Tab::Compare);
  EXPECT_EQ(find_command("view.compare").keys.front(), ImGuiMod_Ctrl | ImGuiKey_6);
}

}  // namespace compare_test
}  // namespace shardlens::ui
