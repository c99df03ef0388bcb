// Save as scene: what the studio shows becomes a scene of a lesson, and the scene shows the same again. So
// does a link.
#include "ui/lesson/save_scene.h"

#include <gmock/gmock.h>
#include <imgui.h>
#include <unistd.h>
#include <wordexp.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "engine/lesson/lesson_session.h"
#include "engine/lesson/parse.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/state_words.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/collective/collective_view.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/link.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/algebra_view.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/program/program_view.h"
#include "ui/panels/traffic/traffic_view.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/product_view.h"
#include "ui/stage/stage_light.h"
#include "ui/stage/stage_view.h"

namespace shardlens::ui {
namespace save_scene_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SaveScene : public ::testing::Test {
 protected:
  SaveScene() : data_(fs::path(::testing::TempDir()) / ("shardlens_save_" + std::to_string(getpid()))) {
    if (const char* before = getenv("XDG_DATA_HOME")) before_ = before;
    fs::create_directories(data_);
    setenv("XDG_DATA_HOME", data_.c_str(), 1);
  }
  ~SaveScene() override {
    before_ ? setenv("XDG_DATA_HOME", before_->c_str(), 1) : unsetenv("XDG_DATA_HOME");
    fs::remove_all(data_);
  }

  fs::path folder() const { return data_ / "shardlens/lessons"; }
  fs::path first() const { return folder() / "saved-scenes-1.md"; }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void save(StudioHarness& harness) {
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Shift | ImGuiKey_S); });
    harness.draw_frames(4);
  }
  static void show(StudioHarness& harness, Tab tab) {
    harness.view().tab = tab;
    harness.view().focus_tab = true;
    harness.draw_frames(4);
  }
  static void select(StudioHarness& harness, const std::string& name) {
    const Program& program = shown_plan(harness.snapshot())->program;
    select_step(harness.view(), program, stage::place_named(program, name).step);
    harness.draw_frames(2);
  }
  static bool shows_scene(StudioHarness& harness, int scene) {
    return harness.draw_until([&] {
      const auto& lesson = *harness.studio().lesson().snapshot();
      return harness.view().of<LessonView>().scene == scene &&
             static_cast<int>(lesson.scenes.size()) > scene && harness.studio().lesson_is_settled();
    });
  }

  static void go_elsewhere(StudioHarness& harness) {
    if (harness.studio().replay().snapshot()->is_open()) {
      harness.studio().replay().send(replay_command::Close{});
      harness.studio().replay().wait_until_idle(60);
    }
    harness.studio().breaks().send(break_command::Clear{});
    Settings other = small_settings();
    other.tp = 3;
    harness.studio().session().send(command::SetSettings{other});
    harness.wait_until_at_rest();
    harness.view().selected_step = -1;
    harness.view().selected_tensor = kNoTensor;
    harness.view().of<CollectiveView>().open = false;
    show(harness, Tab::Scaling);
  }

  /// The words behind `shardlens`, as a shell reads what was copied.
  static std::vector<std::string> copied_link(StudioHarness& harness) {
    std::string copied;
    harness.perform([&](ImGuiTestContext& person) {
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
      person.KeyChars("copy link");
      person.KeyPress(ImGuiKey_Enter);
      person.Yield(3);
      copied = ImGui::GetClipboardText();
    });
    wordexp_t read{};
    EXPECT_EQ(wordexp(copied.c_str(), &read, WRDE_NOCMD | WRDE_UNDEF), 0) << copied;
    std::vector<std::string> words(read.we_wordv, read.we_wordv + read.we_wordc);
    wordfree(&read);
    EXPECT_THAT(words, ::testing::Contains("shardlens"));
    words.erase(words.begin());
    return words;
  }

  /// Copies a link, goes elsewhere, opens the link, and copies another one: the same.
  static void expect_the_link_opens_it(StudioHarness& harness) {
    const std::vector<std::string> words = copied_link(harness);
    ASSERT_EQ(words.front(), "--show");
    go_elsewhere(harness);
    const SceneState state = state_of_words({words.begin() + 1, words.end()});
    Settings settings = first_settings();
    apply(state.run, "the link", settings);
    harness.studio().open_state(state, settings);
    ASSERT_TRUE(harness.draw_until([&] { return harness.studio().lesson_is_settled(); }));
    harness.wait_until_at_rest();
    EXPECT_EQ(copied_link(harness), words);
  }

  /// Saves the state, goes elsewhere, opens the lesson at the saved scene, and saves what it shows: the same.
  void expect_the_same_again(StudioHarness& harness) const {
    expect_the_link_opens_it(harness);
    save(harness);
    ASSERT_TRUE(fs::exists(first())) << harness.view().said.words;
    const Lesson once = read_lesson(first().string());
    go_elsewhere(harness);
    harness.studio().open_lesson(first().string(), 0);
    ASSERT_TRUE(shows_scene(harness, 0));
    harness.wait_until_at_rest();
    save(harness);
    const Lesson twice = read_lesson(first().string());
    ASSERT_EQ(twice.scenes.size(), 2u) << ::testing::PrintToString(texts_in(harness, "Message"));
    EXPECT_EQ(scene_as_markdown("", twice.scenes[1].state), scene_as_markdown("", once.scenes[0].state));
    EXPECT_EQ(twice.scenes[0].title, once.scenes[0].title);
  }

  fs::path data_;
  std::optional<std::string> before_;
};

TEST_F(SaveScene, MomentsBecomeALessonAndThePaletteHasIt) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  select(harness, "mlp.proj");
  save(harness);
  EXPECT_THAT(texts_in(harness, "Message"), ::testing::Contains(::testing::HasSubstr("saved-scenes-1.md")));
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Message/Close");
    person.KeyPress(ImGuiKey_F2);
    person.Yield(2);
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.Yield(2);
    person.KeyChars("save as scene");
    person.KeyPress(ImGuiKey_Enter);
    person.Yield(2);
  });
  const Lesson lesson = read_lesson(first().string());
  ASSERT_EQ(lesson.scenes.size(), 2u);
  EXPECT_EQ(lesson.scenes[0].title, "Stage: mlp.proj");
  EXPECT_EQ(lesson.scenes[0].state.select, "mlp.proj");
  EXPECT_TRUE(lesson.scenes[0].state.run.empty()) << "the head has the settings";
  EXPECT_THAT(text_of(first()), HasSubstr("hidden = 96"));
  EXPECT_EQ(lesson.scenes[1].state.view, "start");
}

TEST_F(SaveScene, ARowOfTheStageIsShownAgain) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  select(harness, "mlp.proj");
  harness.view().selected_rank = 2;
  harness.view().stage_zoom = 1.5f;
  harness.view().of<StageLight>() = {{"mlp.proj", "rank 2"}, {{"mlp.proj", "a \"share\" of the sum"}}};
  harness.view().asked_here().inspector = true;
  expect_the_same_again(harness);
  const SceneState state = read_lesson(first().string()).scenes[0].state;
  EXPECT_EQ(state.rank, 2);
  EXPECT_EQ(state.zoom, 1.5);
  EXPECT_EQ(state.spotlight.size(), 2u);
  EXPECT_EQ(state.callouts.size(), 1u);
  EXPECT_EQ(state.panels, std::vector<std::string>{"inspector"});
}

TEST_F(SaveScene, ATensorThatIsNoOutputIsSelectedAgain) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  const Program& program = shown_plan(harness.snapshot())->program;
  select(harness, "mlp.fc");
  harness.view().selected_tensor = stage::place_named(program, "Wfc").tensor;
  harness.view().of<StageView>().fitted = true;
  expect_the_same_again(harness);
  EXPECT_THAT(read_lesson(first().string()).scenes[0].state.select, HasSubstr("c_fc.weight"));
}

TEST_F(SaveScene, OneNumberIsOpenedAgain) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  select(harness, "mlp.proj");
  harness.view().of<ProductView>() = {.open = true, .number = true, .row = 3, .col = 5};
  harness.draw_frames(4);
  expect_the_same_again(harness);
  EXPECT_EQ(read_lesson(first().string()).scenes[0].state.number->col, 5);
}

TEST_F(SaveScene, TheDerivationIsOpenedAgain) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  select(harness, "mlp.gelu dX");
  harness.view().of<ProductView>() = {.open = true, .derivation = true};
  harness.draw_frames(4);
  expect_the_same_again(harness);
  EXPECT_EQ(read_lesson(first().string()).scenes[0].state.page, "derivation");
}

TEST_F(SaveScene, AnOpenedStepIsNamedWhicheverOfItsTensorsIsSelected) {
  for (const bool derivation : {false, true}) {
    fs::remove_all(folder());
    StudioHarness harness({1280, 720});
    harness.wait_until_at_rest();
    select(harness, "mlp.fc");
    const Program& program = shown_plan(harness.snapshot())->program;
    harness.view().selected_tensor = program.step(harness.view().selected_step).inputs[1];
    harness.view().of<ProductView>() = {.open = true, .derivation = derivation};
    harness.draw_frames(4);
    save(harness);
    EXPECT_EQ(read_lesson(first().string()).scenes[0].state.select, "mlp.fc");
  }
}

TEST_F(SaveScene, AHopIsShownAgain) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  select(harness, "all-reduce mlp.proj.sum");
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_C);
    person.Yield(3);
    person.KeyPress(ImGuiKey_RightArrow, 3);
  });
  ASSERT_EQ(harness.view().of<CollectiveView>().hop, 3);
  expect_the_same_again(harness);
  EXPECT_EQ(read_lesson(first().string()).scenes[0].state.hop, 3);
}

TEST_F(SaveScene, APriceInFrontIsShownAgain) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  select(harness, "all-reduce mlp.proj.sum");
  harness.view().set_lecture(true);  // the window is low for its larger type
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_C);
    person.Yield(3);
    person.ItemClick("//Inside a collective/other page");
  });
  ASSERT_TRUE(harness.view().of<CollectiveView>().price_first);
  expect_the_same_again(harness);
  EXPECT_EQ(read_lesson(first().string()).scenes[0].state.page, "price");
}

TEST_F(SaveScene, ARunThatStandsStillStandsThereAgain) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.studio().session().send(command::Seek{7});
  harness.wait_until_at_rest();
  expect_the_same_again(harness);
  const Program& program = shown_plan(harness.snapshot())->program;
  EXPECT_EQ(read_lesson(first().string()).scenes[0].state.run_to, program.steps[6].name);
}

TEST_F(SaveScene, PagesAreShownAgain) {
  const std::pair<Tab, std::function<void(ViewState&)>> cases[] = {
      {Tab::Memory, [](ViewState& view) { view.of<MemoryView>().this_machine = true; }},
      {Tab::Traffic, [](ViewState& view) { view.of<TrafficView>().times = true; }},
      {Tab::Compare,
       [](ViewState& view) {
         view.of<CompareView>().splits = {"row-row", kOwnSplit, ""};
       }},
      {Tab::Program,
       [](ViewState& view) {
         view.of<ProgramView>().page = ProgramPage::Algebra;
         view.of<AlgebraView>().show(2, 1, 4);
       }},
      {Tab::Program, [](ViewState& view) {
         view.of<ProgramView>().page = ProgramPage::ByHand;
         view.of<ByHandView>().form.choice.gelu = false;
         view.of<ByHandView>().form.operands.at(lab::HandOperand::Dy, 3, 3) = -7;
       }}};
  for (const auto& [tab, prepare] : cases) {
    fs::remove_all(folder());
    StudioHarness harness({1280, 720});
    harness.wait_until_at_rest();
    show(harness, tab);
    prepare(harness.view());
    expect_the_same_again(harness);
    const SceneState state = read_lesson(first().string()).scenes[0].state;
    EXPECT_EQ(state.way, state.page == "algebra" ? std::optional<int>(1) : std::nullopt);
    EXPECT_EQ(state.page == "machine", tab == Tab::Memory);
    EXPECT_EQ(state.page == "algebra" || state.page == "by-hand", tab == Tab::Program);
    EXPECT_EQ(state.compare.has_value(), tab == Tab::Compare);
    ASSERT_EQ(state.by_hand.has_value(), state.page == "by-hand");
    if (state.by_hand) {
      EXPECT_EQ(*state.by_hand, harness.view().of<ByHandView>().form);
    }
  }
}

TEST_F(SaveScene, APlantedMistakeIsPlantedAgain) {
  StudioHarness harness({1280, 720});
  show(harness, Tab::BreakIt);
  harness.wait_until_at_rest();
  harness.studio().breaks().wait_until_idle(60);
  harness.draw_frames(4);
  harness.perform([](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Break it/faults").ID);
    person.ItemClick("skip-g");
  });
  harness.studio().breaks().wait_until_idle(60);
  harness.draw_frames(4);
  expect_the_same_again(harness);
  EXPECT_EQ(read_lesson(first().string()).scenes[0].state.mistake, Fault::SkipG);
}

TEST_F(SaveScene, AMomentOfARecordingIsShownAgain) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.studio().open_recording("gallery:late-rank");
  harness.studio().replay().wait_until_idle(60);
  harness.draw_frames(4);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_RightArrow, 4); });
  harness.studio().replay().wait_until_idle(60);
  harness.draw_frames(4);
  const double seconds = harness.studio().replay().snapshot()->seconds;
  ASSERT_GT(seconds, 0);
  expect_the_same_again(harness);
  const SceneState state = read_lesson(first().string()).scenes[0].state;
  EXPECT_EQ(state.recording, "gallery:late-rank") << "its file has another path on every machine";
  EXPECT_NEAR(*state.moment, seconds, 1e-6);
}

TEST_F(SaveScene, ALinkNamesAnOpenLesson) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.studio().open_lesson("column-then-row", 1, 7);
  ASSERT_TRUE(shows_scene(harness, 1));
  EXPECT_EQ(copied_link(harness),
            (std::vector<std::string>{"--lesson=column-then-row", "--scene=2", "--seed=7"}));
}

TEST_F(SaveScene, AnOldLinkSaysWhatIsNotThereAndOpensAllElse) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.studio().open_state(state_of_words({"view=stage", "select=mlp.gone", "zoom=2.0"}),
                              small_settings());
  ASSERT_TRUE(harness.draw_until([&] { return harness.studio().lesson_is_settled(); }));
  EXPECT_THAT(texts_in(harness, "Message"), ::testing::Contains(HasSubstr("mlp.gone")));
  EXPECT_EQ(harness.view().stage_zoom, 2);
}

constexpr const char* kOwn = R"(+++
title = "Mine"
asks = "Why?"
minutes = 3
[run]
model = "gpt2"
hidden = 96
tp = 4
+++
## First
```scene
select = "mlp.proj"
callouts = [{ at = "mlp.proj", text = "one of {{ranks}} terms" }]
```
)";

TEST_F(SaveScene, InALessonOfOnesOwnItComesAtTheEndWithItsExpressions) {
  const fs::path path = data_ / "mine.md";
  std::ofstream(path) << kOwn;
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.studio().open_lesson(path.string(), 0);
  ASSERT_TRUE(shows_scene(harness, 0));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Bar/T/2"); });
  harness.wait_until_at_rest();
  save(harness);
  const Lesson lesson = read_lesson(path.string());
  ASSERT_EQ(lesson.scenes.size(), 2u);
  EXPECT_TRUE(text_of(path).starts_with(kOwn)) << "what was there stays";
  EXPECT_EQ(text_of(path).find("one of 4 terms"), std::string::npos);
  EXPECT_THAT(text_of(path).substr(std::string(kOwn).size()), HasSubstr("one of {{ranks}} terms"));
  EXPECT_THAT(text_of(path).substr(std::string(kOwn).size()), HasSubstr("tp = 2"));
  EXPECT_TRUE(shows_scene(harness, 1)) << "the saved scene is the shown one";
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(SaveScene, WhatCannotBeWrittenChangesNothingAndIsSaid) {
  std::ofstream(data_ / "shardlens") << "a file where the folder should be";
  {
    StudioHarness harness({1280, 720});
    harness.wait_until_at_rest();
    save(harness);
    const std::string said = [&] {
      std::string all;
      for (const std::string& text : texts_in(harness, "Message")) all += text + " ";
      return all;
    }();
    EXPECT_THAT(said, HasSubstr("The scene is not saved"));
    EXPECT_THAT(said, HasSubstr("XDG_DATA_HOME"));
  }
  // A lesson that is full stays as it is.
  const fs::path path = data_ / "full.md";
  std::string full = kOwn;
  for (size_t scene = 1; scene < kMostScenesOfAFile; ++scene)
    full += "\n## Scene " + std::to_string(scene) + "\n";
  std::ofstream(path) << full;
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.studio().open_lesson(path.string(), 0);
  ASSERT_TRUE(shows_scene(harness, 0));
  save(harness);
  EXPECT_EQ(text_of(path), full);
  EXPECT_THAT(texts_in(harness, "Message"), ::testing::Contains(HasSubstr("is not saved")));
}

}  // namespace save_scene_test
}  // namespace shardlens::ui
