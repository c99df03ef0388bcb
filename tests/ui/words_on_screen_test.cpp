// Texts on the screen when space is short or the studio has a message. The texts are read from a tape onto
// which one frame is drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <icons_font_awesome_4.h>
#include <imgui_internal.h>
#include <unistd.h>

#include <filesystem>

#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "tests/ui/read_png.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/setup/delay_view.h"

namespace shardlens::ui {
namespace words_on_screen_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr PixelSize kSmall{1280, 720};

TEST(WordsOnScreen, AShapeStandsBesideATensorWhereRoomIsShort) {
  Settings settings = small_settings();
  settings.model.hidden = 120;
  settings.seq = 512;
  StudioHarness harness(kSmall, settings);
  harness.wait_until_at_rest();
  harness.draw_frames(4);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("Sharded(2) [1024, 3, 12, 10]"));
}

TEST(WordsOnScreen, WhatTransferAndWaitingLookLikeIsSaidInALectureToo) {
  StudioHarness harness(kSmall);
  harness.view().set_lecture(true);
  harness.view().asked_here().timeline = true;
  harness.wait_until_at_rest();
  harness.draw_frames(8);
  const std::vector<std::string> texts = texts_in(harness, "Timeline");
  EXPECT_THAT(texts, AllOf(Contains("transfer"), Contains("waiting"), Contains(EndsWith(" per pass"))));
}

TEST(WordsOnScreen, ALostRankIsCalledLostInLectureMode) {
  StudioHarness harness(kSmall);
  harness.wait_until_at_rest();
  harness.view().of<DelayView>().rank = 3;
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/Lose"); });
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().failure.has_value(); }));
  harness.view().set_lecture(true);
  harness.draw_frames(8);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains(AllOf(StartsWith(ICON_FA_UNLINK), EndsWith("3 lost"))));
}

TEST(WordsOnScreen, WhatALostRankKeptFromBeingComputedIsNotCalledNotRunYet) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/Lose"); });
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().failure.has_value(); }));
  const Program& program = harness.snapshot().plan->program;
  select_step(harness.view(), program, static_cast<StepId>(program.steps.size()) - 1);
  harness.draw_frames(4);
  const std::vector<std::string> texts = texts_in(harness, "Inspector");
  EXPECT_THAT(texts, Contains("a rank was lost"));
  EXPECT_THAT(texts, Not(Contains("not run yet")));
}

TEST(WordsOnScreen, ABrokenRunOfOtherSettingsThanThoseSetNowSaysSo) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.view().tab = Tab::BreakIt;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  Settings settings = harness.snapshot().settings;
  harness.studio().breaks().send(break_command::Start{settings, Fault::SkipF});
  harness.studio().breaks().wait_until_idle(30);
  harness.draw_frames(4);
  const auto said = HasSubstr("The settings are now: ");
  EXPECT_THAT(texts_in(harness, "Break it"), Not(Contains(said)));
  settings.tp = 2;
  harness.studio().session().send(command::SetSettings{settings});
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().settings.tp == 2; }));
  harness.wait_until_at_rest();
  harness.draw_frames(4);
  EXPECT_THAT(texts_in(harness, "Break it"), Contains(said));
}

TEST(WordsOnScreen, FourRanksHaveTheirTracksWhereRoomIsShort) {
  StudioHarness harness(kSmall);
  harness.wait_until_at_rest();
  ASSERT_EQ(harness.snapshot().settings.tp, 4);
  for (const bool lecture : {false, true}) {
    harness.view().set_lecture(lecture);
    harness.view().asked_here().timeline = true;
    harness.draw_frames(8);
    const ImRect timeline = ImGui::FindWindowByName("Timeline")->Rect();
    std::vector<std::string> whole;
    for (const mark::Words& words : words_on_screen(harness))
      if (timeline.Contains(words.at) && words.at.y + words.style.size <= timeline.Max.y)
        whole.push_back(words.text);
    EXPECT_THAT(whole, Contains("rank 3")) << lecture;
  }
}

TEST(WordsOnScreen, TheLegendNamesForwardAndBackwardWhereRoomIsShort) {
  StudioHarness harness(kSmall);
  harness.wait_until_at_rest();
  EXPECT_THAT(texts_in(harness, "Timeline"),
              AllOf(Contains("forward"), Contains("backward"), Contains("transfer"), Contains("waiting")));
}

TEST(WordsOnScreen, TheSheetIsAsLargeAsEverythingElse) {
  for (const PixelSize size : {kSmall, PixelSize{1920, 1080}}) {
    StudioHarness harness(size);
    harness.wait_until_at_rest();
    for (const bool lecture : {false, true}) {
      harness.view().set_lecture(lecture);
      harness.view().sheet_open = true;
      harness.draw_frames(4);
      float size_of_words = 0;
      for (const mark::Words& words : words_on_screen(harness))
        if (words.text == "Command palette") size_of_words = words.style.size;
      EXPECT_GE(size_of_words, 0.89f * kBodySize * harness.view().ui_scale())
          << size.width << ", " << lecture;
    }
    // What does not fit is reached.
    harness.perform([](ImGuiTestContext& person) {
      for (int i = 0; i < 40; ++i) person.KeyPress(ImGuiKey_DownArrow);
      person.Yield(2);
    });
    std::vector<std::string> shown;
    for (const mark::Words& words : words_on_screen(harness)) shown.push_back(words.text);
    EXPECT_THAT(shown, Contains("Show or hide the notes"));
  }
}

TEST(WordsOnScreen, TheHardwareOfARecordingIsTheMachineItWasMadeOn) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.studio().open_recording("gallery:late-rank");
  ASSERT_TRUE(harness.draw_until([&] { return harness.studio().replayed().is_open(); }));
  const std::string machine = harness.studio().replayed().recording->machine;
  EXPECT_THAT(texts_in(harness, "Setup"), Contains(StartsWith(machine.substr(0, 8))));
}

/// Files the studio writes, in a folder that it was started in.
class FilesOfTheStudio : public ::testing::Test {
 protected:
  FilesOfTheStudio() {
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  ~FilesOfTheStudio() override {
    std::filesystem::current_path(start_);
    std::filesystem::remove_all(folder_);
  }
  const std::filesystem::path start_ = std::filesystem::current_path();
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("a folder whose name is so long that it has no room below the message " + std::to_string(getpid()));
};

TEST_F(FilesOfTheStudio, ARecordingThatHasEndedSaysWhereItIsAndAClickReplaysIt) {
  StudioHarness harness(kSmall);
  harness.view().recordings = folder_.string();
  harness.wait_until_at_rest();
  const auto press = [&](ImGuiKeyChord key) {
    harness.perform([key](ImGuiTestContext& person) { person.KeyPress(key); });
    harness.wait_until_at_rest();
  };
  press(ImGuiMod_Ctrl | ImGuiKey_R);
  press(ImGuiMod_Ctrl | ImGuiKey_R);
  harness.draw_frames(2);
  EXPECT_THAT(texts_in(harness, "Message"), Not(Contains(StartsWith("/")))) << "there is no file";
  press(ImGuiMod_Ctrl | ImGuiKey_R);
  press(ImGuiKey_R);
  press(ImGuiMod_Ctrl | ImGuiKey_R);
  ASSERT_TRUE(harness.draw_until([&] { return !harness.studio().session().snapshot()->recording.on; }));
  EXPECT_THAT(texts_in(harness, "Message"),
              Contains(AllOf(StartsWith("/"), HasSubstr("…/"), EndsWith("_T4.shardlens"))));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Message/**/Replay it"); });
  EXPECT_TRUE(harness.draw_until([&] { return harness.studio().replayed().is_open(); }));
}

TEST_F(FilesOfTheStudio, AKeyWritesWhatTheWindowShowsAndNothingOfTheAsking) {
  StudioHarness harness(kSmall);
  harness.wait_until_at_rest();
  harness.view().said = {"something else"};
  harness.draw_frames(2);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("Export the window as PNG");
    person.Yield(2);
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(8);
    EXPECT_TRUE(person.ItemExists("//Message/**/Copy the path"));
    person.ItemClick("//Message/Close");
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_E);
    person.Yield(8);
    person.ItemClick("//Message/Close");
  });
  const Image first = read_png(folder_ / "shardlens-window-1.png"),
              second = read_png(folder_ / "shardlens-window-2.png");
  ASSERT_EQ(first.size, kSmall);
  ASSERT_EQ(second.size, kSmall);
  const auto part = [](const Image& image) {  // below the mouse, which the first one shows in its corner
    return std::vector(image.pixel(0, 40), image.pixel(0, 480));
  };
  EXPECT_TRUE(part(first) == part(second));
}

}  // namespace words_on_screen_test
}  // namespace shardlens::ui
