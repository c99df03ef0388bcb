// A simulated user drives the studio with real clicks and keys. Each test checks the resulting state in the
// Snapshot (what the engine did) and in the ViewState (what the window shows).
#include "ui/studio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <cmath>

#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"
#include "ui/widgets/tape.h"

namespace shardlens::ui {
namespace studio_test {

const Program& program_of(const StudioHarness& harness) {
  return harness.snapshot().plan->program;
}

ImGuiWindow* window(const char* name) {
  return ImGui::FindWindowByName(name);
}

TEST(Studio, OpensOnALayerThatHasRunAndEqualsTheSerialOne) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const Snapshot& snapshot = harness.snapshot();
  EXPECT_EQ(snapshot.state, RunState::Done) << snapshot.message;
  ASSERT_TRUE(snapshot.result);
  EXPECT_TRUE(snapshot.result->timed);
  EXPECT_TRUE(snapshot.result->parity_summary.agrees);
  // The product that leaves a Partial result is selected: the place where the idea shows.
  const ViewState& view = harness.view();
  ASSERT_GE(view.selected_step, 0);
  ASSERT_NE(view.selected_tensor, kNoTensor);
  EXPECT_EQ(program_of(harness).tensor(view.selected_tensor).layout, kPartial);
  for (const char* panel : {"Bar", "Setup", "Stage", "Inspector", "Timeline"})
    EXPECT_TRUE(is_shown(panel)) << panel;
}

TEST(Studio, AClickOnADegreeReplansAndRunsAgain) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Bar/T/2"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.tp, 2);
  EXPECT_EQ(program_of(harness).tp(), 2);
  EXPECT_EQ(harness.snapshot().state, RunState::Done);
  EXPECT_EQ(harness.snapshot().result->events.size(), 2u);
}

TEST(Studio, AClickBesideACoverClosesItAndReachesNothing) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const auto result = harness.snapshot().result;
  for (const ImGuiKeyChord key :
       {ImGuiKeyChord{ImGuiMod_Ctrl | ImGuiKey_P}, ImGuiKeyChord{ImGuiMod_Ctrl | ImGuiKey_O}}) {
    harness.perform([&](ImGuiTestContext& person) {
      const ImVec2 place = person.ItemInfo("//Bar/T/2").RectFull.GetCenter();
      person.KeyPress(key);
      person.Yield(4);
      EXPECT_TRUE(harness.view().covered());
      person.MouseMoveToPos(place);
      person.MouseClick();
      person.Yield(3);
      EXPECT_FALSE(harness.view().covered());
    });
  }
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.tp, 4);
  EXPECT_EQ(harness.snapshot().result, result);
}

TEST(Studio, AClickOnWhatIsChosenAlreadyRunsNothing) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const auto result = harness.snapshot().result;
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Bar/T/4");
    person.KeyPress(ImGuiKey_4);
    person.ItemClick("//Bar/Split");
    person.ItemClick("//$FOCUSED/##megatron");
  });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().result, result);
}

TEST(Studio, TheSelectionStaysOnItsStepWhenTheProgramChanges) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const std::string name = program_of(harness).step(harness.view().selected_step).name;
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_6); });
  harness.wait_until_at_rest();
  EXPECT_EQ(program_of(harness).tp(), 6);
  EXPECT_EQ(program_of(harness).step(harness.view().selected_step).name, name);
}

TEST(Studio, TheBarsListsChangeModelSplitAndType) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Bar/Split");
    person.ItemClick("//$FOCUSED/##reversed");
    person.ItemClick("//Bar/dtype");
    person.ItemClick("//$FOCUSED/##fp64");
    person.ItemClick("//Bar/Model");
    person.ItemClick("//$FOCUSED/##BERT base");
  });
  harness.wait_until_at_rest();
  const Settings& settings = harness.snapshot().settings;
  EXPECT_EQ(settings.split.name, "reversed");
  EXPECT_EQ(settings.dtype, DType::Fp64);
  EXPECT_EQ(settings.model.name, "bert-base");
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  EXPECT_TRUE(harness.snapshot().result->parity_summary.agrees);
}

// As in Setup: what a whole model can compute in.
TEST(Studio, TheBarsListOfTypesHasHalfPrecisionForAWholeModel) {
  Settings settings = small_settings();
  StudioHarness harness({1280, 720}, settings);
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Bar/dtype");
    IM_CHECK(!person.ItemExists("//$FOCUSED/##bf16"));
    person.KeyPress(ImGuiKey_Escape);
  });
  settings.block = Block::Model;
  settings.model.vocab = 512;
  harness.studio().session().send(command::SetSettings{settings});
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Bar/dtype");
    person.ItemClick("//$FOCUSED/##bf16");
  });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.dtype, DType::Bf16);
}

// Its tooltip says so.
TEST(Studio, AClickOnATThatCannotBeSaysWhatElseHelps) {
  StudioHarness harness({1280, 720}, [] {
    Settings settings = small_settings();
    settings.model.heads = 12;
    return settings;
  }());
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Bar/T/8"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().state, RunState::Refused);
  EXPECT_THAT(harness.snapshot().message, ::testing::HasSubstr("12 heads are not divisible by 8"));
}

TEST(Studio, ALongListScrollsBelowItsFieldAndLeavesTheBarInSight) {
  StudioHarness harness({1280, 720});
  harness.view().set_lecture(true);
  harness.wait_until_at_rest();
  float field = 0, first = 0, second = 0;
  harness.perform([&](ImGuiTestContext& person) {
    field = person.ItemInfo("//Bar/Model").RectFull.Max.y;
    person.ItemClick("//Bar/Model");
    first = person.ItemInfo("//$FOCUSED/##GPT-2 small").RectFull.Min.y;
    person.ItemClick("//$FOCUSED/##GPT 1 T");  // the last one can be scrolled to
  });
  EXPECT_GE(first, field);
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.model.name, "gpt-1t");
  harness.view().set_lecture(false);
  harness.perform([&](ImGuiTestContext& person) {  // Setup's list has the same names
    person.ItemClick("//Setup/Model/choice");
    first = person.ItemInfo("//$FOCUSED/GPT-2 small").RectFull.Min.y;
    second = person.ItemInfo("//$FOCUSED/GPT-2 medium").RectFull.Min.y;
    person.KeyPress(ImGuiKey_Escape);
  });
  EXPECT_GE(second - first, 20) << "lines too close together to be hit";
}

TEST(Studio, WalksToTheNextCollectiveAndBack) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_Home);
    person.KeyPress(ImGuiMod_Shift | ImGuiKey_RightArrow);
  });
  harness.wait_until_at_rest();
  const StepId collective = harness.view().selected_step;
  ASSERT_GE(collective, 1);
  EXPECT_TRUE(is_collective(program_of(harness).step(collective).op));
  EXPECT_EQ(harness.snapshot().position, static_cast<size_t>(collective) + 1);
  EXPECT_EQ(harness.snapshot().state, RunState::Paused);

  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_LeftArrow); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.view().selected_step, collective - 1);
  EXPECT_EQ(harness.snapshot().position, static_cast<size_t>(collective));

  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Bar/Step"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.view().selected_step, collective);
  EXPECT_EQ(harness.snapshot().position, static_cast<size_t>(collective) + 1);

  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_End); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().position, program_of(harness).steps.size());
  EXPECT_EQ(harness.snapshot().state, RunState::Done);
}

TEST(Studio, AClickOnATensorOpensItInTheInspector) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const Program& program = program_of(harness);
  StepId column_parallel = 0;
  while (program.step(column_parallel).op != Op::Linear) ++column_parallel;
  const Step& step = program.step(column_parallel);
  ASSERT_NE(harness.view().selected_step, column_parallel);
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick(("//Stage/**/##stage_step_" + std::to_string(column_parallel) + "_rank_2").c_str());
    person.Yield(2);
    IM_CHECK_EQ(harness.view().selected_step, column_parallel);
    IM_CHECK_EQ(harness.view().selected_tensor, step.outputs.front());
    IM_CHECK_EQ(harness.view().selected_rank, 2);
    // The Inspector offers what this step reads, and shows it on a click.
    person.ItemClick(("//Inspector/reads:" + program.tensor(step.inputs.front()).name).c_str());
    IM_CHECK_EQ(harness.view().selected_tensor, step.inputs.front());
  });
}

TEST(Studio, PlaysByItselfAndStops) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_Home);
    person.KeyPress(ImGuiKey_Space);
  });
  EXPECT_TRUE(harness.view().playing);
  harness.draw_frames(120);  // two seconds of the platform's clock
  EXPECT_GE(harness.view().selected_step, 2);
  EXPECT_LE(harness.view().selected_step, 4) << "each step is held still for a moment";
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Space); });
  EXPECT_FALSE(harness.view().playing);
}

TEST(Studio, ThePaletteRunsACommandByAFewLetters) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  ASSERT_EQ(harness.view().theme, ThemeName::Dark);
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    IM_CHECK(harness.view().palette_open);
    person.KeyChars("swthm");
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
  });
  EXPECT_FALSE(harness.view().palette_open);
  EXPECT_EQ(harness.view().theme, ThemeName::Light);
}

TEST(Studio, ThePaletteDrawsWholeLetters) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  Tape tape;
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("with another");
    person.Yield(2);
    ImGui::GetIO().UserData = &tape;
    person.Yield();
    ImGui::GetIO().UserData = nullptr;
  });
  bool whole = false;
  for (const TapeMark& one : tape.marks()) {
    const auto* words = std::get_if<mark::Words>(&one.what);
    if (words == nullptr || words->text.empty()) continue;
    EXPECT_NE(static_cast<unsigned char>(words->text.front()) & 0xC0, 0x80) << words->text;
    whole = whole || words->text == " …";
  }
  EXPECT_TRUE(whole) << "of \"Compare the open recording with another …\", whose other letters were typed";
}

// Only what changes is drawn, while ranks run, tabs change and the mouse passes: what is left on the screen
// in the end must be what drawing all of it gives.
TEST(Studio, ThePictureThatIsKeptIsTheOneDrawnWhole) {
  StudioHarness harness({1920, 1080}, small_settings(), {}, Rasterize::every_frame);
  const auto expect_whole = [&](const char* when) {
    harness.wait_until_at_rest();
    harness.studio().machine().wait_until_idle(60);  // its answer is drawn too
    harness.draw_frames(60);                         // what moves has come to rest
    const Image kept = harness.platform().read_pixels();
    EXPECT_EQ(harness.platform().drawn_pixels(), 0) << when << ": a frame that repeats the last one";
    harness.platform().draw_whole();
    harness.draw_frames(1);
    EXPECT_TRUE(kept.rgba == harness.platform().read_pixels().rgba) << when;
  };
  expect_whole("at the start");
  harness.perform([](ImGuiTestContext& person) {
    person.MouseMove("//Bar/T/4");
    person.ItemClick("//Bar/T/2");
    person.Yield(10);
    person.KeyPress(ImGuiKey_RightArrow, 5);
  });
  expect_whole("after another run");
  for (const Tab tab : {Tab::Memory, Tab::Traffic, Tab::Program, Tab::Stage}) {
    harness.view().tab = tab;
    harness.view().focus_tab = true;
    expect_whole("in a tab");
  }
}

TEST(Studio, WhatLiesBeneathThePaletteShowsNoTooltip) {
  StudioHarness harness({1920, 1080});
  harness.wait_until_at_rest();
  const std::string tensor =
      "//Stage/**/##stage_step_" + std::to_string(harness.view().selected_step) + "_rank_1";
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMove(tensor.c_str());
    person.SleepNoSkip(1, 1.0f / 60);
    IM_CHECK(is_shown("##Tooltip_00"));
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("traffic");  // a short list, beside which the mouse lies over the Stage
    person.SleepNoSkip(1, 1.0f / 60);
    IM_CHECK(harness.view().palette_open);
  });
  EXPECT_TRUE(harness.view().palette_open);
  EXPECT_FALSE(is_shown("##Tooltip_00"));
}

TEST(Studio, KeysMeanLettersWhileTextIsEdited) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const StepId step = harness.view().selected_step;
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("2 ");
    person.KeyPress(ImGuiKey_2);
    person.KeyPress(ImGuiKey_Space);
    person.KeyPress(ImGuiKey_RightArrow);
    person.KeyPress(ImGuiKey_Escape);
  });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.tp, 4);
  EXPECT_EQ(harness.view().selected_step, step);
  EXPECT_FALSE(harness.view().playing);
  EXPECT_FALSE(harness.view().palette_open);
}

TEST(Studio, TheSheetOpensAndCloses) {
  StudioHarness harness;
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Shift | ImGuiKey_Slash);
    IM_CHECK(harness.view().sheet_open);
    person.Yield(2);
    IM_CHECK(is_shown("Shortcuts"));
    person.KeyPress(ImGuiKey_Escape);
    person.Yield(2);
    IM_CHECK(!harness.view().sheet_open);
    IM_CHECK(!is_shown("Shortcuts"));
  });
}

TEST(Studio, KeysSwitchThemeTabLectureModeAndScale) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_T);
    IM_CHECK(harness.view().theme == ThemeName::Light);
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_3);
    person.Yield(2);
    IM_CHECK(is_shown("Memory") && !is_shown("Stage"));
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_2);
    person.Yield(2);
    IM_CHECK(is_shown("Stage") && !is_shown("Memory"));
    person.KeyPress(ImGuiKey_F11);
    person.Yield(2);
    IM_CHECK(harness.view().lecture);
    IM_CHECK_EQ(ImGui::GetStyle().FontScaleMain, 1.6f);
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Equal);
    IM_CHECK(std::abs(harness.view().scale - 1.1f) < 1e-5f);
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_0);
    IM_CHECK_EQ(harness.view().scale, 1.0f);
  });
  EXPECT_EQ(harness.view().tab, Tab::Stage);
}

/// Frames until Play has gone on to the next step.
int frames_of_a_step(StudioHarness& harness) {
  const StepId before = harness.view().selected_step;
  int frames = 0;
  for (; harness.view().selected_step == before && frames < 1000; ++frames) harness.draw_frames(1);
  return frames;
}

TEST(Studio, KeysChangeHowFastStepsPlay) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_Home);
    person.KeyPress(ImGuiKey_Space);
  });
  frames_of_a_step(harness);
  ASSERT_TRUE(harness.view().playing);
  const int usual = frames_of_a_step(harness);
  EXPECT_THAT(texts_in(harness, "Bar"), ::testing::Contains(::testing::HasSubstr("1 \u00D7")));
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_Home);
    person.KeyPress(ImGuiKey_Period, 2);
    person.KeyPress(ImGuiKey_Space);
  });
  EXPECT_EQ(harness.view().walk_speed, 4);
  frames_of_a_step(harness);
  const int fast = frames_of_a_step(harness);
  EXPECT_NEAR(fast, usual / 4.0, 2);
  EXPECT_THAT(texts_in(harness, "Bar"), ::testing::Contains(::testing::HasSubstr("4 \u00D7")));
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_Comma, 9);
    person.Yield(2);
  });
  EXPECT_EQ(harness.view().walk_speed, 0.25f) << "no slower";
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Bar/pace");
    person.KeyPress(ImGuiKey_Space);
  });
  EXPECT_EQ(harness.view().walk_speed, 1);
}

TEST(Studio, TheSpotlightFollowsTheMouseWhileItsKeyIsHeld) {
  StudioHarness harness({1280, 720}, small_settings(), {}, Rasterize::every_frame);
  harness.wait_until_at_rest();
  harness.view().theme = ThemeName::Light;  // where darkness is easy to see
  const auto brightness = [&](int x, int y) {
    const Image picture = harness.platform().read_pixels();
    int sum = 0;
    for (int dy = 0; dy < 20; ++dy)
      for (int dx = 0; dx < 20; ++dx) sum += picture.pixel(x + dx, y + dy)[1];
    return sum / 400;
  };
  ImGuiIO& io = ImGui::GetIO();
  const auto point_at = [&](float x, float y) {
    io.AddMousePosEvent(x, y);
    harness.draw_frames(3);
  };
  point_at(640, 700);
  const int there = brightness(100, 300), here = brightness(600, 680);
  io.AddKeyEvent(ImGuiKey_L, true);
  harness.draw_frames(3);
  EXPECT_LT(brightness(100, 300), there - 60);
  EXPECT_GT(brightness(600, 680), here - 10);
  point_at(110, 310);
  EXPECT_GT(brightness(100, 300), there - 40);
  EXPECT_LT(brightness(600, 680), here - 60);
  const int64_t whole = int64_t{1280} * 720;
  io.AddMousePosEvent(116, 314);
  harness.draw_frames(1);
  EXPECT_LT(harness.platform().drawn_pixels(), whole / 4) << "only what the circle has left or entered";
  io.AddKeyEvent(ImGuiKey_L, false);
  harness.draw_frames(3);
  EXPECT_GT(brightness(600, 680), here - 10);
}

TEST(Studio, AClickOnATabShowsIt) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick(person.GetWindowByRef("Traffic")->TabId);
    person.Yield(2);
  });
  EXPECT_TRUE(is_shown("Traffic"));
  EXPECT_EQ(harness.view().tab, Tab::Traffic);
}

TEST(Studio, EverythingFitsAt1280x720) {
  for (const bool lecture : {false, true}) {
    StudioHarness harness({1920, 1080});
    harness.wait_until_at_rest();
    harness.view().set_lecture(lecture);
    harness.platform().resize({1280, 720});
    harness.draw_frames(8);
    const ImRect whole(0, 0, 1280, 720);
    ImRect stage = window("Stage")->Rect();
    EXPECT_EQ(is_shown("Setup"), !lecture);
    for (const char* name : {"Bar", "Setup", "Inspector", "Timeline"}) {
      if (!is_shown(name)) continue;
      EXPECT_TRUE(whole.Contains(window(name)->Rect())) << name;
      EXPECT_FALSE(stage.Overlaps(window(name)->Rect())) << name << " lies over the Stage";
    }
    EXPECT_GE(stage.GetWidth(), 640) << "the centre starves";
    const ImGuiTabBar& tabs = *window("Stage")->DockNode->TabBar;
    EXPECT_LE(tabs.WidthAllTabs, tabs.BarRect.GetWidth()) << "a tab is cut";
    // The Bar's content ends inside the window.
    EXPECT_LE(window("Bar")->ContentSize.x + window("Bar")->WindowPadding.x * 2, 1280.5f);
  }
}

TEST(Studio, SaysSoWhileTheResultIsOutOfDate) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  // The engine is told at the end of a frame; the first snapshot of the new settings still carries the old
  // result.
  Settings changed = harness.snapshot().settings;
  changed.tp = 12;
  changed.batch = 4;
  changed.seq = 128;
  harness.studio().session().send(command::SetSettings{changed});
  bool was_dimmed = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);  // frames may be fast
  while (!was_dimmed && std::chrono::steady_clock::now() < end) {
    harness.draw_frames(1);
    for (const ImGuiWindow* child : window("Inspector")->DC.ChildWindows) {
      was_dimmed |= harness.snapshot().stale() && child->Active &&
                    std::string(child->Name).find("##above") != std::string::npos;
    }
  }
  EXPECT_TRUE(was_dimmed);
  harness.wait_until_at_rest();
  EXPECT_FALSE(harness.snapshot().stale());
}

}  // namespace studio_test
}  // namespace shardlens::ui
