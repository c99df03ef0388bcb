// A simulated user drives the start page: lessons open and go on where they were left, what runs here is
// shown, recordings open, and what was opened last is offered again.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "engine/lesson/built_in.h"
#include "engine/lesson/lesson_session.h"
#include "engine/record/gallery.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"
#include "ui/panels/start/lessons.h"
#include "ui/panels/start/start_view.h"

namespace shardlens::ui {
namespace start_test {

namespace fs = std::filesystem;

constexpr double kTimeoutSeconds = 60;

class StartPage : public ::testing::Test {
 protected:
  StartPage() : folder_(fs::path(::testing::TempDir()) / ("shardlens_start_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    if (const char* data = getenv("XDG_DATA_HOME")) data_ = data;
    setenv("XDG_DATA_HOME", folder_.c_str(), 1);
  }
  ~StartPage() override {
    unsetenv("XDG_CACHE_HOME");
    data_ ? setenv("XDG_DATA_HOME", data_->c_str(), 1) : unsetenv("XDG_DATA_HOME");
    fs::remove_all(folder_);
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

  static const LessonEntry& entry(StudioHarness& harness, const std::string& name) {
    const LessonShelf::List lessons = harness.view().of<StartView>().shelf->lessons();
    for (const LessonEntry& lesson : *lessons)
      if (lesson.name == name) return lesson;  // the list outlives the call: the view keeps it
    throw std::logic_error("no lesson " + name);
  }
  static std::vector<std::string> texts(StudioHarness& harness) {
    harness.draw_frames(2);
    return texts_in(harness, "Start");
  }
  fs::path own_lesson(const std::string& text) const {
    fs::create_directories(folder_ / "shardlens/lessons");
    const fs::path path = folder_ / "shardlens/lessons/mine.md";
    std::ofstream(path) << text;
    return path;
  }

  fs::path folder_;
  std::optional<std::string> data_;
};

const char* const kOwnLesson = R"(+++
title = "My own lesson"
asks = "Why is this here?"
minutes = 3
+++
## First
Words.
## Second
More words.
)";

TEST_F(StartPage, ItBeginsWithTheLessonsInTeachingOrder) {
  StudioHarness harness({1920, 1080});
  open_start_page(harness);
  std::vector<std::string> titles;
  for (const auto& lesson : built_in_lessons()) titles.push_back(lesson->title);
  std::vector<std::string> shown;
  for (const std::string& text : texts(harness))
    if (std::find(titles.begin(), titles.end(), text) != titles.end()) shown.push_back(text);
  EXPECT_EQ(shown, titles);
  EXPECT_THAT(texts(harness), ::testing::Contains(built_in_lessons()[0]->asks));
  EXPECT_THAT(texts(harness),
              ::testing::Contains(progress_words(entry(harness, "the-memory-wall"), LessonProgress{})));
}

TEST_F(StartPage, ALessonOpensAndGoesOnWhereItWasLeftAlsoAfterARestart) {
  const fs::path state = folder_ / "studio.json";
  const auto is_at = [](StudioHarness& harness, int scene) {
    return harness.draw_until([&] {
      auto& view = harness.view().of<LessonView>();
      return view.open && view.scene == scene &&
             harness.studio().lesson().snapshot()->lesson->name == "column-then-row" &&
             view.progress["column-then-row"].seen.contains(scene);
    });
  };
  {
    StudioHarness harness({1280, 720}, small_settings(), state);
    open_start_page(harness);
    click(harness, "lesson:column-then-row");
    ASSERT_TRUE(is_at(harness, 0));
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_PageDown); });
    ASSERT_TRUE(is_at(harness, 1));
    EXPECT_EQ(harness.view().of<LessonView>().last, "column-then-row");
  }
  StudioHarness harness({1280, 720}, small_settings(), state);
  open_start_page(harness);
  const auto lesson = find_lesson("column-then-row");
  EXPECT_THAT(texts(harness), ::testing::Contains("Resume: " + lesson->title));
  EXPECT_THAT(texts(harness), ::testing::Contains("Scene 2 of " + std::to_string(lesson->scenes.size()) +
                                                  ": " + lesson->scenes[1].title));
  click(harness, "lesson:resume");
  EXPECT_TRUE(is_at(harness, 1));
}

TEST_F(StartPage, WhatIsAnsweredIsCountedAndAFinishedLessonIsNotResumed) {
  LessonEntry lesson{"heads", "Heads", "Why?", 12, 6, 5, "", "", {}};
  EXPECT_EQ(progress_words(lesson, {}), "12 min · 6 scenes · 5 questions");
  LessonProgress progress{3, {0, 1, 2, 3}, {"a/1", "b/1", "c/1"}, {}};
  EXPECT_EQ(progress_words(lesson, progress), "12 min · 4 of 6 scenes · 3 of 5 questions right");
  EXPECT_EQ(left_words(lesson, progress), "2 scenes and 2 questions left");
  progress.seen.insert(9);  // of a longer lesson, as the file was before
  EXPECT_EQ(share_of(lesson, progress).scenes_seen, 4);
  progress = {5, {0, 1, 2, 3, 4, 5}, {"a/1", "b/1", "c/1", "d/1"}, {}};
  EXPECT_EQ(left_words(lesson, progress), "1 question left");
  progress.right.insert("e/1");
  EXPECT_EQ(share_of(lesson, progress).done, 1);

  StudioHarness harness({1280, 720});
  open_start_page(harness);
  auto& view = harness.view().of<LessonView>();
  const LessonEntry& heads = entry(harness, "heads");
  view.last = "heads";
  for (int scene = 0; scene < heads.scenes; ++scene) view.progress["heads"].seen.insert(scene);
  EXPECT_THAT(texts(harness), ::testing::Contains("Resume: " + heads.title));
  for (int i = 0; i < heads.questions; ++i) view.progress["heads"].right.insert(std::to_string(i));
  EXPECT_THAT(texts(harness), ::testing::Not(::testing::Contains("Resume: " + heads.title)));
}

TEST_F(StartPage, OwnLessonsFollowAndAreReadAgainWhenTheirFileChanges) {
  const fs::path path = own_lesson(kOwnLesson);
  StudioHarness harness({1920, 1080});
  open_start_page(harness);
  EXPECT_THAT(texts(harness), ::testing::Contains("My own lesson"));
  click(harness, "lesson:mine");
  ASSERT_TRUE(
      harness.draw_until([&] { return harness.view().of<LessonView>().progress.contains(path.string()); }));
  // Until then the lesson still opens the tab of its scene.
  ASSERT_TRUE(harness.draw_until([&] { return harness.studio().lesson_is_settled(); }));
  EXPECT_EQ(harness.studio().lesson().snapshot()->path, path.string());
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_F2); });
  std::string harmed = kOwnLesson;
  harmed.replace(harmed.find("minutes = 3"), 11, "minutes = -3");
  own_lesson(harmed);
  ASSERT_TRUE(harness.draw_until([&] { return !entry(harness, "mine").problem.empty(); }));
  EXPECT_THAT(texts(harness), ::testing::Contains(::testing::StartsWith("mine.md:")));
  harness.view().of<LessonView>().starts = false;
  click(harness, "lesson:mine");
  EXPECT_FALSE(harness.view().of<LessonView>().starts) << "there is nothing to open";
}

TEST_F(StartPage, ACardOfTheGalleryIsReplayedOnTheStage) {
  StudioHarness harness;
  open_start_page(harness);
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
  open_start_page(harness);
  EXPECT_EQ(click(harness, "piece:training"), Tab::Train);
}

TEST_F(StartPage, ALookAtWhatRunsHereLeavesTheRecording) {
  StudioHarness harness;
  open_start_page(harness);
  click(harness, "piece:layer-megatron");
  open_start_page(harness);
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
  open_start_page(harness);
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
    open_start_page(harness);
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
