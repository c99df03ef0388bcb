// The window's loop: it follows the screen's scale, survives what cannot be drawn, and ends a training only
// as a person wants it.
#include "ui/window_loop.h"

#include <gmock/gmock.h>
#include <imgui.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/record/live_link.h"
#include "engine/record/recording.h"
#include "engine/train/checkpoint.h"
#include "engine/train/train_snapshot.h"
#include "tests/engine/full_disk.h"
#include "tests/engine/io/test_folder.h"
#include "tests/ui/studio_harness.h"
#include "ui/frame/closing.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/train/train_view.h"

namespace shardlens::ui {
namespace window_loop_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A window without a display: it closes, has a scale and fails as it is told.
class ToldPlatform final : public Platform {
 public:
  explicit ToldPlatform(Platform& inner) : inner_(inner) {}

  float scale = 1;
  bool closes = false, gone = false, full_screen = false;
  std::string says;
  int failures = 0;  ///< of the next frames

  void begin_frame(double wait_seconds) override { inner_.begin_frame(wait_seconds); }
  void render() override {
    if (failures > 0) {
      --failures;
      throw request_error("no picture is that large");
    }
    inner_.render();
    ++drawn;
  }
  void present() override { inner_.present(); }
  void draw_whole() override { inner_.draw_whole(); }
  int64_t drawn_pixels() const override { return inner_.drawn_pixels(); }
  Image read_pixels() override { return inner_.read_pixels(); }
  void wake() override { inner_.wake(); }
  void resize(PixelSize size) override { inner_.resize(size); }
  void set_full_screen(bool on) override { full_screen = on; }
  PixelSize framebuffer_size() const override { return inner_.framebuffer_size(); }
  float dpi_scale() const override { return scale; }
  std::unique_ptr<SecondWindow> open_second_window(const std::string& title, PixelSize size) override {
    return inner_.open_second_window(title, size);
  }
  bool should_close() const override { return closes; }
  void keep_open() override { closes = false; }
  bool is_gone() const override { return gone; }
  std::string take_said() override { return std::exchange(says, {}); }
  std::string renderer() const override { return inner_.renderer(); }
  const Fonts& fonts() const override { return inner_.fonts(); }

  int drawn = 0;

 private:
  Platform& inner_;
};

class Loop : public TestFolder {
 protected:
  void draw(int frames) {
    for (int i = 0; i < frames; ++i) ASSERT_TRUE(loop_.next_frame());
  }

  /// Trains until a few steps are done.
  void train(int64_t checkpoint_every) {
    TrainView& train = harness_.view().of<TrainView>();
    train.checkpoints = path("checkpoints");
    train.single.layers = 1;
    train.single.batch = 2;
    train.single.seq = 16;
    train.single.steps = 1'000'000;
    train.single.checkpoint_every = checkpoint_every;
    train_command::Start wish = train.wish();
    wish.writing.every = 0;
    harness_.studio().training().send(wish);
    ASSERT_TRUE(harness_.draw_until([&] { return steps() > 3; }));
  }
  int64_t steps() {
    const auto now = harness_.studio().training().snapshot();
    return now->curves.empty() ? 0 : static_cast<int64_t>(now->curves.front()->steps.size());
  }
  /// The steps of the one checkpoint; -1: there is none.
  int64_t saved() {
    if (!fs::exists(path("checkpoints"))) return -1;
    for (const auto& entry : fs::directory_iterator(path("checkpoints")))
      if (is_checkpoint(entry.path().string())) return read_training_state(entry.path().string()).step;
    return -1;
  }

  /// The training is being saved, in its own thread, and then the loop ends.
  bool ends_soon() {
    bool ended = false;
    return harness_.draw_until([&] { return ended = ended || !loop_.next_frame(); });
  }
  const ClosingView& closing() { return harness_.view().of<ClosingView>(); }

  explicit Loop(const fs::path& state = {}) : harness_({1280, 720}, small_settings(), state) {}

  StudioHarness harness_;
  ToldPlatform platform_{harness_.platform()};
  std::atomic<int> told_to_end_{0};
  WindowLoop loop_{platform_, harness_.studio(), told_to_end_};
};

fs::path state_of_this_test() {
  return fs::path(::testing::TempDir()) / ("shardlens-loop-" + std::to_string(getpid())) / "studio.json";
}

class LoopWithState : public Loop {
 protected:
  LoopWithState() : Loop(state_of_this_test()) {}
  ~LoopWithState() override { fs::remove_all(state_of_this_test().parent_path()); }
};

TEST_F(Loop, FollowsTheScreensScaleWithAPersonsOnTop) {
  platform_.scale = 2;
  draw(2);
  EXPECT_EQ(ImGui::GetStyle().FontScaleMain, 2);
  EXPECT_EQ(harness_.view().scale, 1) << "only what a person chose is remembered";
  harness_.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Equal);
    person.Yield(2);
    IM_CHECK_LT(std::abs(ImGui::GetStyle().FontScaleMain - 2.2f), 1e-4f);
  });
  platform_.scale = 1.5f;
  draw(2);
  EXPECT_NEAR(ImGui::GetStyle().FontScaleMain, 1.65f, 1e-4f);
  harness_.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_0);
    person.Yield(2);
    IM_CHECK_EQ(ImGui::GetStyle().FontScaleMain, 1.5f);
  });
}

TEST_F(Loop, AClassSeesTheWholeScreen) {
  harness_.wait_until_at_rest();
  harness_.view().set_lecture(true);
  draw(2);
  EXPECT_FALSE(platform_.full_screen) << "no lesson is open";
  harness_.studio().open_lesson("f-and-g", 0);
  ASSERT_TRUE(harness_.draw_until([&] { return is_class(harness_.view()); }));
  draw(2);
  EXPECT_TRUE(platform_.full_screen);
  harness_.view().set_lecture(false);
  draw(2);
  EXPECT_FALSE(platform_.full_screen);
}

TEST_F(Loop, AFrameThatCannotBeDrawnEndsNothing) {
  train(0);
  platform_.failures = 3;
  draw(3);
  EXPECT_EQ(platform_.drawn, 0);
  const int64_t before = steps();
  draw(4);
  EXPECT_EQ(platform_.drawn, 4);
  EXPECT_TRUE(is_shown("Message"));
  EXPECT_TRUE(is_shown("Stage"));
  EXPECT_TRUE(harness_.draw_until([&] { return steps() > before; })) << "the training goes on";
}

// The content of one panel is nonsense, in the middle of a frame: the others are drawn, and another tab
// works.
TEST_F(Loop, APanelThatThrowsSaysSoInItsPlace) {
  harness_.wait_until_at_rest();
  harness_.view().of<ScalingView>() = {.page = ScalingPage::Cluster, .model = "no such model"};
  harness_.view().tab = Tab::Scaling;
  harness_.view().focus_tab = true;
  draw(6);
  EXPECT_THAT(texts_in(harness_, "Scaling"), ::testing::Contains("This cannot be drawn"));
  EXPECT_FALSE(texts_in(harness_, "Bar").empty());
  harness_.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_2); });
  EXPECT_TRUE(is_shown("Stage"));
  EXPECT_FALSE(texts_in(harness_, "Stage").empty());
}

// Outside of a panel: a click on a message's button fails, once or again and again.
class FailingFrame : public Loop {
 protected:
  void SetUp() override {
    Loop::SetUp();
    harness_.wait_until_at_rest();
    ViewState& view = harness_.view();
    select_step(view, harness_.snapshot().plan->program, 3);
    view.said = {"Here is a file.", {"a file"}};
    draw(4);
    harness_.perform([&](ImGuiTestContext& person) {
      button_ = person.ItemInfo("//Message/**/Copy the path").RectFull.GetCenter();
    });
    ImGui::GetPlatformIO().Platform_SetClipboardTextFn = [](ImGuiContext*, const char*) {
      throw std::runtime_error("there is no clipboard");
    };
  }
  /// The button acts in the last of these frames.
  void click() {
    ImGuiIO& io = ImGui::GetIO();
    io.AddMousePosEvent(button_.x, button_.y);
    draw(2);
    io.AddMouseButtonEvent(0, true);
    draw(1);
    harness_.studio().open_lesson("f-and-g", 0);  // waits to be sent at the end of a frame
    io.AddMouseButtonEvent(0, false);
    draw(1);
  }

  ImVec2 button_;
};

TEST_F(FailingFrame, TheNextOneIsSoundAndNothingSentIsLost) {
  click();
  EXPECT_EQ(harness_.view().selected_step, -1) << "what was selected may be the reason";
  draw(2);
  EXPECT_THAT(texts_in(harness_, "Message"), ::testing::Contains(HasSubstr("there is no clipboard")));
  EXPECT_EQ(harness_.view().tab, Tab::Stage) << "one failure closes no page";
  EXPECT_TRUE(is_shown("Stage"));
  EXPECT_TRUE(harness_.draw_until([&] { return harness_.studio().lesson().snapshot()->is_open(); }));
}

TEST_F(FailingFrame, AgainAndAgainItGoesToTheStart) {
  harness_.studio().recover("the first");
  harness_.studio().recover("the second");
  draw(4);
  EXPECT_EQ(harness_.view().tab, Tab::Start);
  EXPECT_THAT(texts_in(harness_, "Message"), ::testing::Contains(HasSubstr("the second")));
  harness_.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_2); });
  EXPECT_TRUE(is_shown("Stage"));
}

TEST_F(Loop, AClosedWindowEnds) {
  harness_.wait_until_at_rest();
  platform_.closes = true;
  EXPECT_FALSE(loop_.next_frame());
}

TEST_F(Loop, ClosingDuringATrainingAsksAndSaves) {
  train(0);
  platform_.closes = true;
  draw(3);
  EXPECT_FALSE(platform_.closes) << "the window stays";
  EXPECT_TRUE(harness_.view().closing_open);
  harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Close/Save and close"); });
  EXPECT_TRUE(ends_soon());
  harness_.studio().end();
  EXPECT_GT(saved(), 3);
  const auto last = harness_.studio().training().snapshot();
  EXPECT_EQ(last->curves.front()->saved_step, saved());
  EXPECT_EQ(last->curves.front()->save_problem, "");
}

TEST_F(Loop, ClosingDuringATrainingCanGoOnAndCanSaveNothing) {
  train(0);
  for (const bool by_key : {true, false}) {
    platform_.closes = true;
    draw(3);
    ASSERT_TRUE(harness_.view().closing_open);
    harness_.perform([&](ImGuiTestContext& person) {
      by_key ? person.KeyPress(ImGuiKey_Escape) : person.ItemClick("//Close/Go on training");
    });
    draw(2);
    EXPECT_FALSE(harness_.view().closing_open);
    EXPECT_EQ(harness_.studio().training().snapshot()->state, TrainState::Running);
  }
  platform_.closes = true;
  draw(3);
  harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Close/Close without saving"); });
  EXPECT_FALSE(loop_.next_frame());
  harness_.studio().end();
  EXPECT_EQ(saved(), -1);
}

TEST_F(Loop, ATrainingThatIsSavedAnywayIsNotAskedAbout) {
  train(1000);
  platform_.closes = true;
  EXPECT_TRUE(ends_soon());
  harness_.studio().end();
  EXPECT_GT(saved(), 3);
  EXPECT_EQ(saved(), steps()) << "with its last step, though none was due";
}

// A disk that is full when the studio is to close.
TEST_F(Loop, ATrainingThatCannotBeSavedKeepsTheWindowOpenAndIsAskedAboutAgain) {
  train(0);
  platform_.closes = true;
  draw(3);
  {
    const testing::FullDisk full(1 << 10);
    harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Close/Save and close"); });
    ASSERT_TRUE(harness_.draw_until([&] { return !closing().problem.empty(); }));
    draw(3);
  }
  EXPECT_TRUE(harness_.view().closing_open);
  EXPECT_THAT(closing().problem, HasSubstr("File too large"));
  EXPECT_THAT(closing().problem, HasSubstr("checkpoints"));
  EXPECT_THAT(texts_in(harness_, "Close"), ::testing::Contains(HasSubstr("could not be saved")));
  EXPECT_EQ(saved(), -1) << "and nothing half-written";
  const int64_t paused_at = steps();
  harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Close/Go on training"); });
  ASSERT_TRUE(harness_.draw_until([&] { return steps() > paused_at; })) << "it goes on";
  platform_.closes = true;
  draw(1);
  ASSERT_TRUE(ends_soon()) << "the disk has room again, and the training now has a place";
  harness_.studio().end();
  EXPECT_EQ(saved(), steps());
  EXPECT_EQ(harness_.studio().not_saved(), "");
}

TEST_F(Loop, ACheckpointThatCannotBeWrittenAtTheEndIsAskedAboutToo) {
  train(1'000'000);
  {
    const testing::FullDisk full(1 << 10);
    platform_.closes = true;
    draw(1);
    ASSERT_TRUE(harness_.draw_until([&] { return !closing().problem.empty(); }));
    harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Close/Try again"); });
    ASSERT_TRUE(harness_.draw_until([&] { return !closing().awaited; }));
    draw(2);
    EXPECT_TRUE(harness_.view().closing_open) << "it still fails";
  }
  harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Close/Try again"); });
  EXPECT_TRUE(ends_soon());
  harness_.studio().end();
  EXPECT_EQ(saved(), steps());
}

// Another program can destroy any window. Nobody can be asked then.
TEST_F(Loop, AWindowThatIsGoneEnds) {
  draw(2);
  platform_.gone = true;
  EXPECT_FALSE(loop_.next_frame());
}

TEST_F(Loop, TextFromRightToLeftIsSaidToBeDrawnFromLeftToRightOnce) {
  harness_.wait_until_at_rest();
  const auto said = [&] {
    const std::vector<std::string> texts = texts_in(harness_, "Message");
    return std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
      return text.find("from left to right only") != std::string::npos;
    });
  };
  harness_.view().told = "\u05E9\u05DC\u05D5\u05DD";
  draw(4);
  EXPECT_TRUE(said());
  harness_.perform([](ImGuiTestContext& person) { person.ItemClick("//Message/Close"); });
  harness_.view().told = "\u0633\u0644\u0627\u0645";
  draw(4);
  EXPECT_FALSE(said());
}

TEST_F(Loop, WhatThePlatformSaysIsShown) {
  platform_.says = "Nothing was pasted.";
  draw(3);
  EXPECT_THAT(texts_in(harness_, "Message"), ::testing::Contains(HasSubstr("Nothing was pasted")));
}

// A folder in the place of the file: root may write anywhere.
TEST_F(LoopWithState, AStateThatCannotBeWrittenKeepsTheWindowOpenOnce) {
  fs::create_directories(state_of_this_test());
  harness_.view().theme = ThemeName::Light;
  platform_.closes = true;
  draw(2);
  EXPECT_FALSE(platform_.closes);
  EXPECT_THAT(texts_in(harness_, "Message"), ::testing::Contains(HasSubstr("cannot remember")));
  platform_.closes = true;
  EXPECT_FALSE(loop_.next_frame()) << "a person who closes it again knows";
}

// As with SIGTERM: nobody can answer.
TEST_F(Loop, TheSystemIsNotAskedAndEverythingIsSaved) {
  train(0);
  harness_.view().recordings = path("recordings");
  harness_.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_R); });
  const int64_t before = steps();
  ASSERT_TRUE(harness_.draw_until([&] { return steps() > before + 3; }));
  told_to_end_ = SIGTERM;
  EXPECT_FALSE(loop_.next_frame());
  harness_.studio().end();
  EXPECT_GT(saved(), 3);
  int recordings = 0;
  for (const auto& entry : fs::directory_iterator(path("recordings"))) {
    EXPECT_EQ(entry.path().extension(), ".shardlens") << entry.path() << " is left";
    const Recording recording(entry.path().string());
    EXPECT_TRUE(recording.finished());
    ++recordings;
  }
  EXPECT_GE(recordings, 1);
}

}  // namespace window_loop_test
}  // namespace shardlens::ui
