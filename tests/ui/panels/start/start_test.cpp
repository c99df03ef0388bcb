// A simulated user drives the start page: what runs here is shown, recordings open, and what was opened last
// is offered again.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "engine/record/gallery.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"

namespace shardlens::ui {
namespace start_test {

namespace fs = std::filesystem;

constexpr double kTimeoutSeconds = 60;

class StartPage : public ::testing::Test {
 protected:
  StartPage() : folder_(fs::path(::testing::TempDir()) / ("shardlens_start_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~StartPage() override {
    unsetenv("XDG_CACHE_HOME");
    fs::remove_all(folder_);
  }

  static void open(StudioHarness& harness) {
    harness.wait_until_at_rest();
    harness.view().tab = Tab::Start;
    harness.view().focus_tab = true;
    harness.draw_frames(4);
  }

  /// Clicks a card and returns the tab that is shown then: after a script the focus goes back to where it
  /// was.
  static Tab click(StudioHarness& harness, const std::string& card) {
    Tab shown = Tab::Start;
    harness.perform([&](ImGuiTestContext& person) {
      person.SetRef(person.WindowInfo("//Start/start page").ID);
      person.ItemClick(card.c_str());
      harness.studio().replay().wait_until_idle(kTimeoutSeconds);
      person.Yield(4);
      shown = harness.view().tab;
    });
    return shown;
  }

  fs::path folder_;
};

TEST_F(StartPage, ACardOfTheGalleryIsReplayedOnTheStage) {
  StudioHarness harness;
  open(harness);
  EXPECT_EQ(click(harness, "piece:late-rank"), Tab::Stage);
  ASSERT_TRUE(harness.studio().replay().snapshot()->is_open());
  EXPECT_EQ(harness.snapshot().plan->program.tp(), 4);
  EXPECT_THAT(harness.snapshot().result->provenance, ::testing::HasSubstr("replayed on"));
  EXPECT_TRUE(harness.view().recent.empty()) << "what came with the studio is in its gallery";
}

TEST_F(StartPage, ThePaletteFindsAPieceOfTheGallery) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.Yield(2);
    person.KeyChars("gallery late");
    person.KeyPress(ImGuiKey_Enter);
  });
  EXPECT_TRUE(harness.draw_until([&] { return harness.studio().replayed().is_open(); }));
  EXPECT_THAT(harness.studio().replayed().recording->path, ::testing::EndsWith("late-rank.shardlens"));
}

TEST_F(StartPage, AKeyShowsIt) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_F2);
    person.Yield(3);
    IM_CHECK_EQ(harness.view().tab, Tab::Start);
    IM_CHECK(person.WindowInfo("//Start/start page").ID != 0);
  });
}

TEST_F(StartPage, ATrainingIsShownInItsTab) {
  StudioHarness harness;
  open(harness);
  EXPECT_EQ(click(harness, "piece:training"), Tab::Train);
}

TEST_F(StartPage, ALookAtWhatRunsHereLeavesTheRecording) {
  StudioHarness harness;
  open(harness);
  click(harness, "piece:layer-megatron");
  open(harness);
  EXPECT_EQ(click(harness, "look:reversed"), Tab::Stage);
  harness.wait_until_at_rest();
  EXPECT_FALSE(harness.studio().replay().snapshot()->is_open());
  EXPECT_EQ(harness.snapshot().settings.split.name, "reversed");
}

TEST_F(StartPage, WhatWasOpenedLastIsListedFirstAndRemembered) {
  const fs::path state = folder_ / "studio.json", first = folder_ / "first.shardlens",
                 second = folder_ / "second.shardlens";
  for (const fs::path& copy : {first, second}) fs::copy_file(gallery_file("loss-fused"), copy);
  {
    StudioHarness harness({1920, 1080}, small_settings(), state);
    EXPECT_EQ(harness.view().tab, Tab::Start) << "the first start";
    for (const fs::path& path : {first, second, first}) {
      harness.studio().open_recording(path.string());
      harness.studio().replay().wait_until_idle(kTimeoutSeconds);
      harness.draw_frames(4);
    }
    EXPECT_THAT(harness.view().recent, ::testing::ElementsAre(first.string(), second.string()));
  }
  StudioHarness harness({1920, 1080}, small_settings(), state);
  open(harness);
  click(harness, "recent:1");
  ASSERT_TRUE(harness.studio().replay().snapshot()->is_open());
  EXPECT_EQ(harness.studio().replay().snapshot()->recording->path, second.string());
}

TEST_F(StartPage, ARecordingWhoseFileIsGoneIsNotListedUntilItIsBack) {
  const fs::path there = folder_ / "there.shardlens", lost = folder_ / "lost.shardlens";
  fs::copy_file(gallery_file("loss-fused"), there);
  StudioHarness harness;
  const auto lists = [&](const char* card) {
    bool found = false;
    harness.view().tab = Tab::Stage;
    harness.view().focus_tab = true;
    harness.draw_frames(4);
    open(harness);
    harness.perform([&](ImGuiTestContext& person) {
      person.SetRef(person.WindowInfo("//Start/start page").ID);
      found = person.ItemExists(card);
    });
    return found;
  };
  harness.view().recent = {lost.string(), there.string()};
  EXPECT_TRUE(lists("recent:0"));
  EXPECT_FALSE(lists("recent:1"));
  click(harness, "recent:0");
  ASSERT_TRUE(harness.studio().replay().snapshot()->is_open());
  EXPECT_EQ(harness.studio().replay().snapshot()->recording->path, there.string());
  fs::copy_file(there, lost);
  EXPECT_TRUE(lists("recent:1"));
}

}  // namespace start_test
}  // namespace shardlens::ui
