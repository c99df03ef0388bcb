// A simulated user drives the page that compares two recordings: two that differ, two that are equal, a file
// that is not a recording, and a run made here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <imgui.h>

#include <fstream>

#include "engine/runtime/executor.h"
#include "engine/runtime/recordings/recorder.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/diff_session.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/recordings/chooser_view.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/panels/recordings/recordings_parts.h"
#include "ui/plan/sections.h"

namespace shardlens::ui {
namespace recordings_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kTimeoutSeconds = 240;
constexpr const char* kChanged = "h.1.mlp.fc.out";

/// Adds to one element of a tensor on rank 1 in the last of two passes, as a wrong kernel would.
class Tampering : public StepObserver {
 public:
  void on_tensor(int rank, StepId, const Tensor& tensor, const void* data) override {
    if (rank == 1 && pass == 1 && tensor.name == kChanged)
      const_cast<float*>(static_cast<const float*>(data))[2] += 1;
  }
  int pass = 0;
};

class RecordingsPage : public TestFolder {
 protected:
  /// A small model on two ranks, two passes, every tensor hashed.
  std::string record(const std::string& name, bool changed, bool pictures = true) {
    const std::shared_ptr<const Plan> plan = make_plan(testing::small_model(2));
    Executor executor(plan);
    const auto taken = pictures ? PictureOptions::Taken::All : PictureOptions::Taken::Off;
    Recorder recorder(path(name), "train", *plan, executor.communicator(), {},
                      {.taken = taken, .extent = 64});
    auto tampering = std::make_shared<Tampering>();
    std::vector<std::shared_ptr<StepObserver>> observers;
    if (changed) observers.push_back(tampering);
    if (recorder.pictures()) observers.push_back(recorder.pictures());
    executor.observe(observers);
    for (int pass = 0; pass < 2; ++pass) {
      tampering->pass = pass;
      executor.next_pass();
      executor.start(executor.steps());
      executor.wait();
      std::vector<Metric> metrics;
      if (pictures) metrics.push_back({"loss", 5.0 - pass + (changed && pass == 1 ? 0.25 : 0)});
      recorder.take(executor, metrics);
    }
    recorder.finish();
    return path(name);
  }

  static void open(StudioHarness& harness, const std::string& a = {}, const std::string& b = {}) {
    harness.wait_until_at_rest();
    harness.view().of<DiffView>().a = a;
    harness.view().of<DiffView>().b = b;
    harness.view().of<CompareView>().page = ComparePage::Recordings;
    harness.view().tab = Tab::Compare;
    harness.view().focus_tab = true;
    harness.draw_frames(4);
    settle(harness);
  }
  static void settle(StudioHarness& harness) {
    for (int round = 0; round < 3; ++round) {
      harness.draw_frames(2);
      harness.studio().diff().wait_until_idle(kTimeoutSeconds);
      harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    }
    harness.draw_frames(3);
  }
  static std::shared_ptr<const DiffSnapshot> compared(StudioHarness& harness) {
    return harness.studio().diff().snapshot();
  }
  static Answer answer(StudioHarness& harness) { return answer_of(*compared(harness)->compared); }
};

TEST_F(RecordingsPage, TwoThatPartSayWhereAndAClickGoesThere) {
  const std::string a = record("a.shardlens", false), b = record("b.shardlens", true);
  StudioHarness harness;
  open(harness, a, b);
  ASSERT_TRUE(compared(harness)->compared) << compared(harness)->message;
  const Answer said = answer(harness);
  EXPECT_EQ(said.verdict, DiffVerdict::Parted);
  EXPECT_EQ(said.headline, std::string("First difference in pass 1: ") + kChanged + ", rank 1");
  const RecordingDiff& diff = compared(harness)->compared->diff;
  ASSERT_TRUE(diff.parting->element);
  EXPECT_EQ(diff.parting->element->differing, 1);
  EXPECT_EQ(diff.parting->element->col, 2);
  EXPECT_FLOAT_EQ(static_cast<float>(diff.parting->element->b - diff.parting->element->a), 1);

  // The step is selected by a click on its row, and the replay of B opens at the pass and the step.
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Compare/part/losses");
    person.ItemClick("//Compare/part/memory");
    person.ItemClick("//Compare/part/totals");
    person.ItemClick("//Compare/part/steps");
    person.ItemClick("//Compare/show in B");
    person.Yield(2);
  });
  settle(harness);
  ASSERT_TRUE(harness.studio().replayed().is_open());
  EXPECT_EQ(harness.studio().replayed().recording->path, b);
  EXPECT_EQ(harness.studio().replayed().pass, 1);
  const Program& program = harness.snapshot().plan->program;
  EXPECT_EQ(harness.view().selected_step, diff.parting->a_step);
  EXPECT_EQ(program.tensor(harness.view().selected_tensor).name, kChanged);
  EXPECT_EQ(harness.view().open_section,
            sections_of(harness.snapshot().plan).of_step[static_cast<size_t>(diff.parting->a_step)])
      << "its layer is open";
}

TEST_F(RecordingsPage, AStepIsSelectedAndTheTableSortedAndCopied) {
  const std::string a = record("a.shardlens", false), b = record("b.shardlens", true);
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.studio().open_recording(a);
  settle(harness);
  open(harness, a, b);
  ASSERT_TRUE(compared(harness)->compared);
  harness.perform([](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Compare/compared steps").ID);
    person.ItemClick("##3 3");
  });
  EXPECT_EQ(harness.view().selected_step, 3);
  EXPECT_EQ(harness.view().of<DiffView>().row, 3);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Compare/sort time A"); });
  const auto& runs = compared(harness)->compared;
  const std::vector<DiffRow>& rows = shown_rows(runs);
  const std::vector<size_t>& places = shown_places(runs, harness.view().of<DiffView>().order);
  ASSERT_EQ(places.size(), rows.size());
  for (size_t i = 1; i < places.size(); ++i)
    EXPECT_GE(rows[places[i - 1]].a_seconds, rows[places[i]].a_seconds);
  std::string copied;
  harness.perform([&](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Compare/compared steps").ID);
    person.MouseMove(fmt::format("##{} {}", rows[places[0]].a, rows[places[0]].b).c_str());
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    copied = ImGui::GetClipboardText();
  });
  EXPECT_THAT(copied, HasSubstr("waits A"));
  const auto line_of = [&](size_t place) {  // a name may begin as another one does
    return copied.find(" " + rows[places[place]].name + "  ");
  };
  EXPECT_LT(line_of(0), line_of(1)) << "in the order shown";
}

TEST_F(RecordingsPage, TwoEqualOnesAreTheSame) {
  const std::string a = record("a.shardlens", false), b = record("b.shardlens", false);
  StudioHarness harness;
  open(harness, a, b);
  ASSERT_TRUE(compared(harness)->compared) << compared(harness)->message;
  EXPECT_EQ(answer(harness).verdict, DiffVerdict::Same);
  EXPECT_THAT(answer(harness).headline, HasSubstr("The same values"));
  EXPECT_THAT(answer(harness).lines.front(), HasSubstr("of 2 passes and 2 metrics are equal"));
  EXPECT_THAT(unlike_words(*compared(harness)->compared), IsEmpty());
}

TEST_F(RecordingsPage, OneBesideItselfIsCalledThat) {
  const std::string a = record("a.shardlens", false);
  StudioHarness harness;
  open(harness, a, a);
  ASSERT_TRUE(compared(harness)->compared) << compared(harness)->message;
  EXPECT_THAT(answer(harness).headline, HasSubstr("the same recording"));
}

TEST_F(RecordingsPage, WithoutHashesNothingIsCalledEqual) {
  const std::string a = record("a.shardlens", false, false), b = record("b.shardlens", false, false);
  StudioHarness harness;
  open(harness, a, b);
  ASSERT_TRUE(compared(harness)->compared);
  EXPECT_EQ(answer(harness).verdict, DiffVerdict::Unknown);
  EXPECT_THAT(answer(harness).lines.front(), HasSubstr("--record-pictures all")) << "names the remedy";
}

TEST_F(RecordingsPage, AFileThatIsNoneIsRefusedAndAnotherOneIsChosen) {
  const std::string a = record("a.shardlens", false);
  const std::string hostile = path("hostile.shardlens");
  std::ofstream(hostile) << "SQLite format 3, and then nothing of the kind";
  StudioHarness harness;
  open(harness, a, hostile);
  EXPECT_FALSE(compared(harness)->compared);
  EXPECT_THAT(compared(harness)->message, HasSubstr("hostile.shardlens"));
  EXPECT_FALSE(compared(harness)->busy);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Compare/recording B/choice");
    person.ItemClick("//$FOCUSED/###loss-fused");
  });
  settle(harness);
  EXPECT_EQ(harness.view().of<DiffView>().b, "gallery:loss-fused");
  ASSERT_TRUE(compared(harness)->compared) << compared(harness)->message;
  EXPECT_FALSE(compared(harness)->compared->diff.same_program)
      << "unlike programs are compared in what both have";
  EXPECT_THAT(unlike_words(*compared(harness)->compared), HasSubstr("only in"));
}

TEST_F(RecordingsPage, WhatWasRecordedIsRunHereAndIsTheSame) {
  StudioHarness harness;
  open(harness);
  EXPECT_FALSE(compared(harness)->compared);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Compare/recording A/choice");
    person.ItemClick("//$FOCUSED/###loss-fused");
    person.ItemClick("//Compare/recording B/choice");
    person.ItemClick("//$FOCUSED/Run A's settings here");
  });
  settle(harness);
  ASSERT_TRUE(compared(harness)->compared) << compared(harness)->message;
  const ComparedRuns& runs = *compared(harness)->compared;
  EXPECT_TRUE(runs.b.path.empty());
  EXPECT_TRUE(runs.diff.same_program);
  EXPECT_GT(runs.diff.compared_hashes, 500);
  EXPECT_GT(runs.diff.b_pass_seconds, 0);
}

TEST_F(RecordingsPage, ATrainingCannotBeRunAgainAndSaysWhatCan) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.view().of<DiffView>().b_here = true;
  open(harness, "gallery:training");
  EXPECT_FALSE(compared(harness)->compared);
  EXPECT_THAT(compared(harness)->message, HasSubstr("record the same training here"));
}

TEST_F(RecordingsPage, TheListOfFilesChoosesForIt) {
  const std::string a = record("a.shardlens", false), b = record("b.shardlens", false);
  StudioHarness harness;
  open(harness, a);
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Compare/recording B/choice");
    person.ItemClick("//$FOCUSED/Open a file …");
    person.Yield(3);
    EXPECT_TRUE(harness.view().chooser_open);
    person.KeyCharsReplaceEnter("nothing.shardlens");
    person.Yield(3);
    EXPECT_TRUE(harness.view().chooser_open) << "one goes on typing where nothing lies";
    EXPECT_THAT(harness.view().of<DiffView>().b, ::testing::IsEmpty());
    person.KeyCharsReplaceEnter(b.c_str());
    person.Yield(3);
  });
  settle(harness);
  EXPECT_FALSE(harness.view().chooser_open);
  EXPECT_FALSE(harness.studio().replayed().is_open()) << "it is compared, and not replayed";
  EXPECT_EQ(harness.view().of<DiffView>().b, b);
  EXPECT_TRUE(compared(harness)->compared);
  EXPECT_THAT(harness.view().recent, ::testing::ElementsAre(a, b)) << "they are offered the next time";
}

TEST_F(RecordingsPage, WhatIsDroppedOnTheListOfFilesIsChosenForIt) {
  const std::string a = record("a.shardlens", false), b = record("b.shardlens", false);
  StudioHarness harness;
  open(harness, a);
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Compare/recording B/choice");
    person.ItemClick("//$FOCUSED/Open a file …");
    person.Yield(3);
  });
  harness.studio().open_dropped(path(""));
  settle(harness);
  EXPECT_TRUE(harness.view().chooser_open) << "a folder is looked into";
  EXPECT_EQ(harness.view().of<ChooserView>().chosen_for, ChosenFor::CompareB);
  EXPECT_EQ(harness.studio().replay().snapshot()->list->folder + "/", path(""));
  harness.studio().open_dropped(b);
  settle(harness);
  EXPECT_FALSE(harness.view().chooser_open);
  EXPECT_FALSE(harness.studio().replayed().is_open()) << "it is compared, and not replayed";
  EXPECT_EQ(harness.view().of<DiffView>().b, b);
}

}  // namespace recordings_test
}  // namespace shardlens::ui
