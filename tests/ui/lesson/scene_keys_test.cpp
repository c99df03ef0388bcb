// Every view, page and key of a scene, together at random: `lesson --check` refuses the scene, or the studio
// shows it. SHARDLENS_SCENES is how many are tried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>

#include "engine/base/error.h"
#include "engine/io/temporary_folder.h"
#include "engine/lesson/check.h"
#include "engine/lesson/parse.h"
#include "engine/lesson/views.h"
#include "engine/train/experiments/break_snapshot.h"
#include "engine/train/experiments/diff_session.h"
#include "engine/train/train_snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/pages.h"
#include "ui/panels/compare/compare_view.h"

namespace shardlens::ui {
namespace scene_keys_test {

constexpr double kTimeoutSeconds = 500;
constexpr int kScenes = 60;

const char* const kHead =
    "+++\ntitle = \"T\"\nasks = \"?\"\nminutes = 5\n"
    "[run]\nhidden = 96\nheads = 12\ntp = 4\nbatch = 1\nseq = 8\n+++\n";

const char* const kModel =
    "model = \"gpt2-tiny\", block = \"model\", layers = 2, hidden = 48, heads = 4, tp = 2, batch = 2, seq = "
    "16";

/// What a scene can state beside its view and page; each line with what it needs.
std::vector<std::string> snippets() {
  const std::string model = std::string("run = { ") + kModel + " }";
  return {"select = \"mlp.proj\"",
          "select = \"mlp.gelu\"",
          "select = \"mlp.fc.weight\"",
          "select = \"attn.softmax\"",
          "select = \"all-reduce mlp.proj.sum\"",
          "select = \"all-reduce mlp.proj.sum\"\nhop = 3",
          "select = \"all-reduce mlp.proj.sum\"\nhop = 2000000000\nplay = true",
          "select = \"mlp.proj\"\nnumber = { row = 3, column = 5 }",
          "select = \"mlp.proj\"\nnumber = { row = 2000000000, column = 0 }",
          "select = \"mlp.gelu\"\nnumber = { row = 0, column = 0 }",
          "rank = 3",
          "rank = 7",
          "zoom = 0.25",
          "zoom = 4",
          "fit = true",
          "spotlight = [\"mlp.proj\", \"rank 2\", \"ln1\"]",
          "spotlight = [\"weights\", \"activations\"]",
          "callouts = [{ at = \"mlp.proj\", text = \"{{ranks}}\" }, { at = \"rank 0\", text = \"zero\" }]",
          "mistake = \"skip-f\"",
          "mistake = \"skip-g\"\ntraining_steps = 0",
          "mistake = \"bias-before-reduction\"\ntraining_steps = 2\n" + model,
          "mistake = \"qkv-across-heads\"",
          "train = \"model\"\ntraining_steps = 2\n" + model,
          "train = \"norms\"\ntraining_steps = 1\n" + model,
          "train = \"model\"",
          "recording = \"gallery:late-rank\"",
          "recording = \"gallery:late-rank\"\nmoment = 0.001\nselect = \"mlp.proj\"",
          "recording = \"gallery:loss-fused\"\nmoment = 1000000.0\nplay = true",
          "recording = \"nowhere.shardlens\"",
          "compare = { splits = [\"megatron\", \"reversed\", \"replicated\"] }",
          "compare = { splits = [\"reversed\"] }",
          "compare = { recording = \"gallery:late-rank\" }",
          "compare = { recording = \"gallery:loss-fused\" }",
          "compare = { recording = \"gallery:training\" }",
          "compare = { recording = \"gallery:loss-gathered\" }\nrecording = \"gallery:loss-fused\"",
          "operation = \"LayerNorm\"",
          "operation = \"GeLU\"\nway = 1",
          "by_hand = { gelu = false }",
          "by_hand = { fc = \"row\", mistake = \"skip-g\", X = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], "
          "[0, 0, 0, 1]] }",
          "by_hand = { X = [[12]] }",
          "run_to = \"mlp.fc\"",
          "run_to = \"mlp.fc\"\nplay = true",
          "play = true",
          "panels = [\"setup\", \"inspector\", \"timeline\"]",
          "run = { tp = 1 }",
          "run = { tp = 5 }",
          "run = { block = \"attention\", kv_heads = 4 }",
          "run = { block = \"mlp\", split = \"replicated\" }",
          "run = { model = \"gpt-1t\" }",
          "run = { model = \"bert-tiny\", norm = \"post\", tp = 2 }",
          "run = { delays = [\"2:mlp.proj:5\"] }",
          "run = { hardware = \"h100-80gb\", dtype = \"bf16\", overlap_chunks = 2 }",
          "run = { micro_batches = 2, recompute = \"full\", update = true, batch = 4, " +
              std::string(kModel).substr(0, std::string(kModel).find(", batch")) + " }",
          model};
}

std::string key_of(const std::string& line) {
  return line.substr(0, line.find(' '));
}

/// A scene's block: a view, a page and some keys, none of them twice.
std::string any_scene(std::mt19937_64& random) {
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  static const std::vector<std::string> all = snippets();
  const StudioView& view = lesson_views()[below(lesson_views().size())];
  std::string block = std::string("view = \"") + view.name + "\"\n", keys = ",view,page,";
  if (!view.pages.empty() && below(8) > 0)
    block += "page = \"" + view.pages[below(view.pages.size())] + "\"\n";
  for (size_t count = 1 + below(3); count > 0; --count) {
    const std::string& more = all[below(all.size())];
    std::string added;
    bool twice = false;
    for (size_t begin = 0; begin < more.size();) {
      const std::string line = more.substr(begin, more.find('\n', begin) - begin);
      twice = twice || keys.find("," + key_of(line) + ",") != std::string::npos;
      added += key_of(line) + ",";
      begin += line.size() + 1;
    }
    if (twice) continue;
    keys += added;
    block += more + "\n";
  }
  return block;
}

/// Does `lesson --check` let it pass?
bool holds(const std::string& scene) {
  try {
    const Lesson lesson =
        parse_lesson(kHead + std::string("## A\n\nWords.\n\n```scene\n") + scene + "```\n", "a.md");
    check_names(lesson);
    return check_lesson(lesson, {}).holds();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request) << error.what();
    return false;
  }
}

TEST(SceneKeys, WhatIsCheckedIsShown) {
  const char* const wanted = std::getenv("SHARDLENS_SCENES");
  const char* const seed = std::getenv("SHARDLENS_SEED");
  std::mt19937_64 random(seed ? std::strtoull(seed, nullptr, 10) : 58);
  std::vector<std::string> scenes;
  int refused = 0;
  for (const int count = wanted ? std::atoi(wanted) : kScenes; std::ssize(scenes) < count;) {
    std::string scene = any_scene(random);
    if (holds(scene))
      scenes.push_back(std::move(scene));
    else
      ++refused;
  }
  EXPECT_GT(refused, 10);
  const TemporaryFolder folder;
  StudioHarness harness;
  harness.wait_until_at_rest();
  Studio& studio = harness.studio();
  for (size_t first = 0; first < scenes.size(); first += kMostScenesOfAFile) {
    const std::string path = folder.path() + "/" + std::to_string(first) + ".md";
    const size_t last = std::min(scenes.size(), first + kMostScenesOfAFile);
    std::ofstream file(path);
    file << kHead;
    for (size_t i = first; i < last; ++i)
      file << "\n## Scene " << i << "\n\nWords.\n\n```scene\n" << scenes[i] << "```\n";
    file.close();
    studio.open_lesson(path, 0);
    harness.draw_frames(2);
    for (size_t i = first; i < last; ++i) {
      SCOPED_TRACE(scenes[i]);
      studio.show_scene(static_cast<int>(i - first));
      harness.draw_frames(2);
      ASSERT_TRUE(harness.draw_until([&] { return studio.lesson_is_settled(); })) << "it is never shown";
      ASSERT_EQ(studio.lesson().snapshot()->message, "");
      studio.breaks().wait_until_idle(kTimeoutSeconds);
      studio.diff().wait_until_idle(kTimeoutSeconds);
      studio.comparison().wait_until_idle(kTimeoutSeconds);
      studio.scaling().wait_until_idle(kTimeoutSeconds);
      harness.draw_frames(4);
      const MadeScene& made = studio.lesson().snapshot()->scenes[i - first];
      ASSERT_NE(made.shown, nullptr) << made.problem;
      const SceneState& state = made.shown->scene->state;
      EXPECT_EQ(names_of(harness.view().tab).word, state.view);
      if (!state.page.empty() && state.page != "faults") {  // a large window has that list beside its pages
        EXPECT_EQ(shown_page(harness.view()), state.page);
      }
      EXPECT_EQ(studio.replay().snapshot()->failures, 0u) << studio.replay().snapshot()->message;
      EXPECT_EQ(studio.replay().snapshot()->is_open(), !state.recording.empty());
      EXPECT_NE(studio.session().snapshot()->state, RunState::Failed) << studio.session().snapshot()->message;
      const auto breaks = studio.breaks().snapshot();
      EXPECT_EQ(breaks->planted, state.mistake);
      EXPECT_NE(breaks->state, BreakState::Failed) << breaks->message;
      if (state.mistake) {
        EXPECT_NE(breaks->state, BreakState::Refused) << breaks->message;
      }
      EXPECT_NE(studio.training().snapshot()->state, TrainState::Refused)
          << studio.training().snapshot()->message;
      EXPECT_NE(studio.training().snapshot()->state, TrainState::Failed)
          << studio.training().snapshot()->message;
      if (state.page == "recordings" && state.compare) {
        EXPECT_EQ(studio.diff().snapshot()->message, "");
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// Outside the tab Break it, the settings of the second scene switched off its own mistake, too.
TEST(SceneKeys, AMistakeAfterAnother) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/mistakes.md";
  std::ofstream(path)
      << kHead
      << "## A\n\nWords.\n\n```scene\nview = \"scaling\"\nmistake = \"skip-f\"\n```\n"
         "## B\n\nWords.\n\n```scene\nview = \"traffic\"\nmistake = \"skip-g\"\nrun = { tp = 2 }\n```\n";
  StudioHarness harness;
  harness.wait_until_at_rest();
  Studio& studio = harness.studio();
  studio.open_lesson(path, 0);
  harness.draw_frames(2);
  ASSERT_TRUE(harness.draw_until([&] { return studio.lesson_is_settled(); }));
  studio.show_scene(1);
  harness.draw_frames(2);
  int frames = 0;
  ASSERT_TRUE(harness.draw_until([&] {
    studio.breaks().wait_until_idle(kTimeoutSeconds);
    return studio.lesson_is_settled() || ++frames > 300;
  }));
  EXPECT_TRUE(studio.lesson_is_settled()) << "it is never shown";
  EXPECT_EQ(harness.snapshot().plan->program.settings.tp, 2);
}

// The smallest case that crashed: the page of splits, and no split.
TEST(SceneKeys, SplitsBesideEachOtherWithoutASplit) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.view().of<CompareView>().splits = {"", "", ""};
  show_page(harness.view(), "compare", "splits");
  harness.draw_frames(4);
  harness.studio().comparison().wait_until_idle(kTimeoutSeconds);
  harness.draw_frames(4);
  EXPECT_EQ(harness.view().of<CompareView>().splits[0], kOwnSplit) << "the run's own split is a column";
}

}  // namespace scene_keys_test
}  // namespace shardlens::ui
