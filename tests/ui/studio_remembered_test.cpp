// What the studio keeps from one start to the next, and what it does if that file is damaged.
#include <gtest/gtest.h>
#include <imgui_internal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/ui/studio_harness.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/program/program_view.h"
#include "ui/remember/start_attempt.h"
#include "ui/remember/state_file.h"
#include "ui/studio.h"

namespace shardlens::ui {
namespace studio_remembered_test {

class RememberedStudio : public ::testing::Test {
 protected:
  RememberedStudio() { std::filesystem::create_directories(folder_); }
  ~RememberedStudio() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("shardlens-studio-" + std::to_string(getpid()));
  const std::filesystem::path path_ = folder_ / "studio.json";
};

/// Goes from Start, which a first start shows, to the Stage, which has a Setup.
void open_stage(ImGuiTestContext& person) {
  person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_2);
  person.Yield(8);
}

TEST_F(RememberedStudio, LectureModeOfTheCommandLineIsForOneStart) {
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    harness.view().set_lecture(true);
    harness.view().lecture_given = true;  // as --lecture and --present do
    harness.view().of<MemoryView>().this_layer = true;
    harness.draw_frames(2);
  }
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    EXPECT_FALSE(harness.view().lecture);
    EXPECT_TRUE(harness.view().of<MemoryView>().this_layer) << "the rest is remembered";
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_F11); });
  }
  StudioHarness harness({1600, 900}, small_settings(), path_);
  EXPECT_TRUE(harness.view().lecture) << "a person chose it";
}

TEST_F(RememberedStudio, WhatWasTypedByHandIsThereAgain) {
  HandForm form;
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    HandForm& shown = harness.view().of<ByHandView>().form;
    lab::type_into(shown.operands, lab::HandOperand::ProjBias, 0, 3, "-8");
    shown.choice = {.fc = Cut::Row, .proj = Cut::Column, .mistake = Fault::GeluOnPartial};
    form = shown;
    harness.draw_frames(2);
  }
  StudioHarness harness({1600, 900}, small_settings(), path_);
  EXPECT_EQ(harness.view().of<ByHandView>().form, form);
}

TEST_F(RememberedStudio, ComesBackAsItWasLeft) {
  float width = 0;
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    harness.perform([](ImGuiTestContext& person) {
      open_stage(person);
      const ImGuiWindow* setup = person.GetWindowByRef("Setup");
      IM_CHECK(setup != nullptr);
      const ImVec2 border(setup->Pos.x + setup->Size.x, setup->Pos.y + setup->Size.y / 2);
      person.MouseMoveToPos(border);
      person.MouseDragWithDelta(ImVec2(-60, 0));
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_T);
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_4);
      person.Yield(2);
    });
    width = ImGui::FindWindowByName("Setup")->Size.x;
    EXPECT_LT(width, 250);
    harness.view().of<MemoryView>().this_layer = true;
    harness.view().of<ProgramView>().filter = "all-reduce";
  }
  StudioHarness harness({1600, 900}, small_settings(), path_);
  harness.draw_frames(4);
  EXPECT_EQ(ImGui::FindWindowByName("Setup")->Size.x, width);
  EXPECT_EQ(harness.view().theme, ThemeName::Light);
  EXPECT_TRUE(is_shown("Traffic"));
  EXPECT_TRUE(harness.view().of<MemoryView>().this_layer);
  EXPECT_EQ(harness.view().of<ProgramView>().filter, "all-reduce");
}

TEST_F(RememberedStudio, ATabThatWasTakenOutStaysOut) {
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    harness.wait_until_at_rest();
    harness.draw_frames(8);
    EXPECT_TRUE(ImGui::FindWindowByName("Memory")->DockIsActive);
    harness.perform([](ImGuiTestContext& person) { person.UndockWindow("Memory"); });
    harness.draw_frames(4);
    EXPECT_FALSE(ImGui::FindWindowByName("Memory")->DockIsActive);
  }
  StudioHarness harness({1600, 900}, small_settings(), path_);
  harness.draw_frames(8);
  EXPECT_TRUE(is_shown("Memory"));
  const ImGuiWindow* memory = ImGui::FindWindowByName("Memory");
  EXPECT_FALSE(memory->DockIsActive);
  EXPECT_TRUE(ImGui::GetMainViewport()->Pos == ImVec2(0, 0) &&
              ImRect({0, 0}, ImGui::GetMainViewport()->Size).Contains(memory->Rect()))
      << "and whole in the window";
  EXPECT_GT(memory->WindowBorderSize, 0) << "it lies on panels of its own colour";
  const ImGuiWindow* traffic = ImGui::FindWindowByName("Traffic");
  EXPECT_TRUE(traffic->DockIsActive);
  EXPECT_EQ(traffic->WindowBorderSize, 0);
}

TEST_F(RememberedStudio, ALayoutThatNobodyTouchedIsNotWrittenDown) {
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    harness.wait_until_at_rest();
    harness.perform([](ImGuiTestContext& person) {
      person.KeyPress(ImGuiKey_F11);
      person.Yield(8);
      person.KeyPress(ImGuiKey_T);
      person.Yield(8);
    });
  }
  std::string problem;
  EXPECT_EQ(read_state(path_, problem).layout, "") << "another window's panels have its own measures";
}

TEST_F(RememberedStudio, ABrokenFileGivesTheFirstLayoutAndAMessage) {
  std::ofstream(path_) << "{ broken";
  StudioHarness harness({1600, 900}, small_settings(), path_);
  harness.draw_frames(2);
  EXPECT_TRUE(is_shown("Message"));
  EXPECT_TRUE(is_shown("Start"));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Message/Close"); });
  harness.draw_frames(2);
  EXPECT_FALSE(is_shown("Message"));
}

TEST_F(RememberedStudio, ALayoutThatIsNonsenseGivesWayToTheFirstOne) {
  RememberedState nonsense;
  nonsense.tab = Tab::Stage;
  nonsense.layout =
      "[Window][Setup]\nPos=-9,nan\nDockId=0x99\n[Docking][Data]\nDockNode ID=0xFFFF Parent=0x1 "
      "SizeRef=x\n";
  write_state(nonsense, path_);
  StudioHarness harness({1600, 900}, small_settings(), path_);
  harness.draw_frames(8);
  EXPECT_TRUE(is_shown("Setup"));
  EXPECT_TRUE(ImGui::FindWindowByName("Setup")->DockIsActive);
  EXPECT_EQ(ImGui::FindWindowByName("Setup")->Size.x, 288);
}

// A window manager may make a window tiny for a moment, and it may be closed in that moment.
TEST_F(RememberedStudio, AWindowClosedTinyKeepsTheLayoutItHadBefore) {
  float width = 0;
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    harness.perform([](ImGuiTestContext& person) {
      open_stage(person);
      const ImGuiWindow* setup = person.GetWindowByRef("Setup");
      person.MouseMoveToPos(ImVec2(setup->Pos.x + setup->Size.x, setup->Pos.y + setup->Size.y / 2));
      person.MouseDragWithDelta(ImVec2(60, 0));
      person.UndockWindow("Memory");
      person.Yield(4);
    });
    width = ImGui::FindWindowByName("Setup")->Size.x;
    harness.platform().resize({100, 80});
    harness.draw_frames(12);
  }
  StudioHarness harness({1600, 900}, small_settings(), path_);
  harness.perform(open_stage);
  EXPECT_EQ(ImGui::FindWindowByName("Setup")->Size.x, width);
  EXPECT_GT(ImGui::FindWindowByName("Timeline")->Size.y, 150);
  EXPECT_GT(ImGui::FindWindowByName("Stage")->Size.x, 600);
  EXPECT_GT(ImGui::FindWindowByName("Memory")->Size.x, 300);
}

TEST_F(RememberedStudio, AWindowClosedTinyThatNobodyArrangedIsTheFirstLayout) {
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    harness.perform(open_stage);
    harness.platform().resize({100, 80});
    harness.draw_frames(12);
  }
  StudioHarness harness({1600, 900}, small_settings(), path_);
  harness.draw_frames(8);
  EXPECT_EQ(ImGui::FindWindowByName("Setup")->Size.x, 288);
}

// As an earlier version has saved it.
TEST_F(RememberedStudio, PanelsThatWereSavedTooSmallAreWidened) {
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    harness.perform([](ImGuiTestContext& person) {
      open_stage(person);
      const ImGuiWindow* setup = person.GetWindowByRef("Setup");
      person.MouseMoveToPos(ImVec2(setup->Pos.x + setup->Size.x, setup->Pos.y + setup->Size.y / 2));
      person.MouseDragWithDelta(ImVec2(-280, 0));
      person.Yield(4);
    });
    EXPECT_LT(ImGui::FindWindowByName("Setup")->Size.x, 60);
  }
  StudioHarness harness({1600, 900}, small_settings(), path_);
  harness.draw_frames(8);
  EXPECT_GE(ImGui::FindWindowByName("Setup")->Size.x, 96);
}

TEST_F(RememberedStudio, WhatCannotBeWrittenIsSaidOnceAndTriedAgain) {
  std::filesystem::create_directory(path_);  // a folder in the place of the file: root may write anywhere
  StudioHarness harness({1600, 900}, small_settings(), path_);
  harness.perform([](ImGuiTestContext& person) {
    if (person.ItemExists("//Message/Close"))
      person.ItemClick("//Message/Close");  // the file could not be read
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_T);
  });
  ASSERT_FALSE(is_shown("Message"));
  ASSERT_TRUE(harness.draw_until([] { return is_shown("Message"); }));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Message/Close"); });
  std::filesystem::remove(path_);
  ASSERT_TRUE(harness.draw_until([&] { return std::filesystem::is_regular_file(path_); }))
      << "nothing has changed since, but the last try failed";
  EXPECT_FALSE(is_shown("Message"));
  std::string problem;
  EXPECT_EQ(read_state(path_, problem).theme, ThemeName::Light);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "and nothing beside it";
}

// One line of the tree of docked panels is missing: Dear ImGui would end the program.
TEST_F(RememberedStudio, ALayoutWhoseTreeIsBrokenGivesWayToTheFirstOneAndCostsOnlyItself) {
  std::ofstream(path_) << R"({"format":1,"theme":"light","scale":1,"lecture":false,"tab":"stage","layout":")"
                       << R"([Docking][Data]\nDockSpace ID=0xB7A3AAE6 Window=0x47979DB6 Pos=0,38 )"
                       << R"(Size=1200,762 Split=X\n  DockNode ID=0x00000001 Parent=0xB7A3AAE6 )"
                       << R"(SizeRef=290,762 CentralNode=1\n"})";
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    harness.draw_frames(16);
    EXPECT_TRUE(is_shown("Message"));
    EXPECT_EQ(ImGui::FindWindowByName("Setup")->Size.x, 288);
    EXPECT_EQ(harness.view().theme, ThemeName::Light);
    harness.view().theme = ThemeName::Dark;
  }
  EXPECT_TRUE(std::filesystem::exists(path_.string() + ".kept"));
  StudioHarness harness({1600, 900}, small_settings(), path_);
  EXPECT_FALSE(is_shown("Message")) << "it is said once";
}

// A start that dies leaves its marker. Here one is made as such a start would have left it.
TEST_F(RememberedStudio, AStateThatEndedAStartIsNotPutInPlaceAgain) {
  RememberedState state;
  state.theme = ThemeName::Light;
  state.recent = {"/a/run.shardlens"};
  write_state(state, path_);
  const std::string marker = path_.string() + ".starting";
  const std::string left = path_.string() + ".left";
  for (int died = 1; died <= 2; ++died) {
    {
      const StartAttempt attempt(path_);
      EXPECT_EQ(attempt.died_before(), died - 1);
      std::filesystem::copy_file(marker, left);
    }
    ASSERT_FALSE(std::filesystem::exists(marker)) << "a start that ends in order leaves nothing";
    std::filesystem::rename(left, marker);
  }
  {
    const StartAttempt attempt(path_);
    EXPECT_EQ(attempt.died_before(), 2);
  }
  {
    const StartAttempt attempt(path_);
    std::filesystem::copy_file(marker, left);
  }
  std::filesystem::rename(left, marker);
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    EXPECT_EQ(harness.view().theme, ThemeName::Dark);
    EXPECT_EQ(harness.view().recent, state.recent) << "what a person has done stays";
    harness.draw_frames(16);
    EXPECT_TRUE(is_shown("Message"));
    EXPECT_FALSE(std::filesystem::exists(marker));
    EXPECT_TRUE(std::filesystem::exists(path_.string() + ".kept"));
  }
  StudioHarness harness({1600, 900}, small_settings(), path_);
  harness.draw_frames(2);
  EXPECT_FALSE(is_shown("Message")) << "it is said once";
}

TEST_F(RememberedStudio, TwoStudiosKeepWhatEachHasChanged) {
  std::string problem;
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    RememberedState other = read_state(path_, problem), before = other;  // of another studio
    other.recent = {"/b/other.shardlens"};
    other.lessons["heads"].seen = {0, 1};
    other.theme = ThemeName::Light;
    write_state(other, path_, before);
    harness.view().recent = {"/a/this.shardlens"};
    harness.view().of<LessonView>().progress["heads"].seen = {2};
    harness.view().of<LessonView>().progress["column-then-row"].right = {"a/1"};
    harness.draw_frames(2);
  }
  const RememberedState state = read_state(path_, problem);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(state.recent, (std::vector<std::string>{"/a/this.shardlens", "/b/other.shardlens"}));
  EXPECT_EQ(state.lessons.at("heads").seen, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(state.lessons.at("column-then-row").right, std::set<std::string>{"a/1"});
  EXPECT_EQ(state.theme, ThemeName::Light);
}

TEST_F(RememberedStudio, ARecordingWhoseNameIsNoTextIsRememberedWithEverythingElse) {
  const std::string name = "/a/caf\xe9.shardlens";
  {
    StudioHarness harness({1600, 900}, small_settings(), path_);
    harness.view().recent = {name};
    harness.view().theme = ThemeName::Light;
    harness.draw_frames(2);
  }
  StudioHarness harness({1600, 900}, small_settings(), path_);
  EXPECT_EQ(harness.view().recent, std::vector<std::string>{name});
  EXPECT_EQ(harness.view().theme, ThemeName::Light);
}

TEST_F(RememberedStudio, AMovedLayoutIsPutBackOnRequest) {
  StudioHarness harness({1600, 900});
  harness.perform([](ImGuiTestContext& person) {
    const ImGuiWindow* setup = person.GetWindowByRef("Setup");
    person.MouseMoveToPos(ImVec2(setup->Pos.x + setup->Size.x, setup->Pos.y + setup->Size.y / 2));
    person.MouseDragWithDelta(ImVec2(80, 0));
    person.Yield(4);
    IM_CHECK_GT(ImGui::FindWindowByName("Setup")->Size.x, 350.0f);
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("reset");
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(6);
  });
  EXPECT_EQ(ImGui::FindWindowByName("Setup")->Size.x, 288);
}

}  // namespace studio_remembered_test
}  // namespace shardlens::ui
