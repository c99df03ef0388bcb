// A simulated user looks inside collectives: from every panel that shows one, by mouse and by keys, hop by
// hop.
#include "ui/collective/inside.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/splits.h"
#include "engine/cost/price.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/collective/collective_view.h"
#include "ui/commands/commands.h"
#include "ui/widgets/format.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace inside_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kWindow = "Inside a collective";

StepId first(const Program& program, Op op, Phase phase = Phase::Forward) {
  for (const Step& step : program.steps)
    if (step.op == op && step.phase == phase) return step.id;
  throw std::logic_error("no such step");
}

/// A studio at rest.
class Inside : public ::testing::Test {
 protected:
  explicit Inside(const Settings& settings = small_settings(), PixelSize size = {1920, 1080})
      : harness(size, settings) {
    harness.wait_until_at_rest();
    harness.draw_frames(4);
  }
  const Program& program() const { return harness.snapshot().plan->program; }
  const CollectiveView& view() { return harness.view().of<CollectiveView>(); }
  bool is_open() { return view().open && is_shown(kWindow); }
  std::vector<std::string> texts() { return texts_in(harness, kWindow); }
  void press(ImGuiKeyChord key) {
    harness.perform([key](ImGuiTestContext& person) { person.KeyPress(key); });
    harness.draw_frames(2);
  }
  /// Opens the first collective of a kind with the key.
  void open(Op op, Phase phase = Phase::Forward) {
    select_step(harness.view(), program(), first(program(), op, phase));
    harness.draw_frames(2);
    press(ImGuiKey_C);
    ASSERT_TRUE(is_open());
  }

  StudioHarness harness;
};

TEST_F(Inside, ABandsButtonOpensItAndEscapeGoesBack) {
  const StepId band = first(program(), Op::AllReduce);
  const std::string button = "//Stage/**/##stage_step_" + std::to_string(band) + "_inside";
  select_step(harness.view(), program(), band);
  harness.view().scroll_to_selection = true;
  harness.draw_frames(4);
  harness.perform([&](ImGuiTestContext& person) { person.ItemClick(button.c_str()); });
  harness.draw_frames(2);
  ASSERT_TRUE(is_open());
  EXPECT_EQ(harness.view().selected_step, band);
  EXPECT_FALSE(is_shown("Inspector")) << "it takes the whole window";
  press(ImGuiKey_Escape);
  EXPECT_FALSE(is_open());
  EXPECT_TRUE(is_shown("Stage"));
  EXPECT_TRUE(is_shown("Inspector"));
  EXPECT_EQ(harness.view().selected_step, band) << "back where it was opened";
}

TEST_F(Inside, ASecondClickOnABandOpensItAndTheButtonGoesBack) {
  const StepId band = first(program(), Op::AllReduce);
  const std::string cell = "//Stage/**/##stage_step_" + std::to_string(band) + "_rank_1";
  harness.view().selected_step = -1;
  harness.draw_frames(2);
  harness.perform([&](ImGuiTestContext& person) { person.ItemClick(cell.c_str()); });
  EXPECT_EQ(harness.view().selected_step, band);
  EXPECT_FALSE(view().open) << "the first click explains it in the Inspector";
  harness.perform([&](ImGuiTestContext& person) { person.ItemClick(cell.c_str()); });
  harness.draw_frames(2);
  ASSERT_TRUE(is_open());
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inside a collective/back"); });
  harness.draw_frames(2);
  EXPECT_FALSE(is_open());
  EXPECT_TRUE(is_shown("Stage"));
}

TEST_F(Inside, TrafficsRowAndTheInspectorOpenItAndItGoesBackThere) {
  const StepId band = first(program(), Op::AllReduce);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_4); });
  harness.view().selected_step = -1;
  harness.draw_frames(4);
  const std::string row = "//Traffic/**/step " + std::to_string(band);
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick(row.c_str());
    person.ItemClick(row.c_str());
  });
  harness.draw_frames(2);
  ASSERT_TRUE(is_open());
  press(ImGuiKey_Escape);
  EXPECT_TRUE(is_shown("Traffic"));
  EXPECT_EQ(harness.view().tab, Tab::Traffic);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inspector/look inside"); });
  harness.draw_frames(2);
  EXPECT_TRUE(is_open());
}

// The newest settings have no plan: the collective of the run before stays open, with its own price.
TEST_F(Inside, OfTheRunBeforeStaysOpenWhereSettingsAreRefused) {
  open(Op::AllReduce);
  Settings refused = small_settings();
  refused.tp = 5;
  harness.studio().session().send(command::SetSettings{refused});
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().state == RunState::Refused; }));
  ASSERT_EQ(harness.snapshot().plan, nullptr);
  harness.draw_frames(4);
  EXPECT_TRUE(is_open());
  EXPECT_THAT(texts(), Contains("The price of the ring"));
}

TEST_F(Inside, ThePaletteOpensTheNextCollectiveWhenNoneIsSelected) {
  select_step(harness.view(), program(), 0);
  harness.draw_frames(2);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars("Inside a collective");
    person.KeyPress(ImGuiKey_Enter);
  });
  harness.draw_frames(2);
  ASSERT_TRUE(is_open());
  EXPECT_EQ(harness.view().selected_step, first(program(), Op::AllReduce));
}

TEST_F(Inside, ArrowsGoFromHopToHopAndSpacePlays) {
  open(Op::AllReduce);
  const size_t position = harness.snapshot().position;
  const StepId step = harness.view().selected_step;
  EXPECT_THAT(texts(), Contains("Before the first hop"));
  press(ImGuiKey_RightArrow);
  EXPECT_THAT(texts(), AllOf(Contains("Hop 1 of 6"), Contains("reduce-scatter")));
  press(ImGuiKey_RightArrow);
  press(ImGuiKey_RightArrow);
  press(ImGuiKey_RightArrow);
  EXPECT_THAT(texts(), AllOf(Contains("Hop 4 of 6"), Contains("all-gather")));
  press(ImGuiKey_LeftArrow);
  EXPECT_EQ(view().hop, 3);
  press(ImGuiKey_End);
  EXPECT_EQ(view().hop, 7);
  EXPECT_THAT(texts(), Contains("After the last hop"));
  EXPECT_EQ(harness.view().selected_step, step) << "the step stays";
  EXPECT_EQ(harness.snapshot().position, position) << "and so does the run";
  press(ImGuiKey_Space);
  EXPECT_TRUE(view().playing) << "from the beginning";
  EXPECT_LE(view().hop, 1);
  ASSERT_TRUE(harness.draw_until([&] { return view().hop >= 3; }));
  press(ImGuiKey_Space);
  EXPECT_FALSE(view().playing);
  const int stopped = view().hop;
  harness.draw_frames(90);
  EXPECT_EQ(view().hop, stopped);
}

TEST_F(Inside, AFasterSpeedPlaysFaster) {
  open(Op::AllReduce);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inside a collective/speed/4"); });
  EXPECT_EQ(view().hops_per_second, 4);
  press(ImGuiKey_Space);
  harness.draw_frames(60);  // a second of the harness's clock
  EXPECT_GE(view().hop, 3);
}

TEST_F(Inside, AClickOnATickGoesToItsHop) {
  open(Op::AllReduce);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inside a collective/hop 5"); });
  EXPECT_EQ(view().hop, 5);
}

TEST_F(Inside, AnAllReduceIsATreeToo) {
  open(Op::AllReduce);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inside a collective/as a/tree"); });
  harness.draw_frames(2);
  press(ImGuiKey_RightArrow);
  EXPECT_THAT(
      texts(),
      AllOf(Contains("Hop 1 of 4"), Contains("the tree: drawn, not run"), Contains("The price of the tree"),
            Contains(StartsWith("As a ring, by the same")), Contains(StartsWith("4 hops × "))));
}

TEST_F(Inside, PriceIsThatOfTheCostModelAndEveryRankHasItsTimes) {
  Settings settings = harness.snapshot().settings;
  settings.hardware = "h100-80gb";
  harness.studio().session().send(command::SetSettings{settings});
  harness.wait_until_at_rest();
  harness.draw_frames(4);
  open(Op::AllReduce);
  const Step& step = program().step(harness.view().selected_step);
  const Hardware& hardware = find_hardware("h100-80gb");
  const double seconds = collective_seconds(Collective::AllReduce, sent_bytes(program(), step.id),
                                            ring_of(program(), step, hardware), hardware);
  const std::vector<std::string> shown = texts();
  EXPECT_THAT(shown, Contains(format_seconds(seconds)));
  EXPECT_THAT(shown, Contains(StartsWith("Measured here: ")));
  EXPECT_THAT(shown, Contains("the ring: drawn, not run"));
  for (const std::vector<StepEvent>& rank : harness.snapshot().result->events) {
    const StepEvent& event = rank[static_cast<size_t>(step.id)];
    EXPECT_THAT(shown, Contains(format_seconds(event.wait_seconds())));
    EXPECT_THAT(shown, Contains(format_seconds(event.transfer_seconds())));
  }
}

TEST_F(Inside, TheNextCollectiveIsAKeyAway) {
  open(Op::AllReduce);
  const StepId before = harness.view().selected_step;
  press(ImGuiMod_Shift | ImGuiKey_RightArrow);
  EXPECT_TRUE(is_open());
  EXPECT_GT(harness.view().selected_step, before);
  EXPECT_TRUE(is_collective(program().step(harness.view().selected_step).op));
  press(ImGuiMod_Shift | ImGuiKey_LeftArrow);
  EXPECT_EQ(harness.view().selected_step, before);
  press(ImGuiMod_Shift | ImGuiKey_LeftArrow);
  EXPECT_EQ(harness.view().selected_step, before) << "there is none before the first";
}

TEST_F(Inside, AnotherTIsShownInsideToo) {
  open(Op::AllReduce);
  press(ImGuiKey_2);
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().settings.tp == 2; }));
  harness.wait_until_at_rest();
  harness.draw_frames(4);
  ASSERT_TRUE(is_open());
  press(ImGuiKey_RightArrow);
  EXPECT_THAT(texts(), Contains("Hop 1 of 2"));
  press(ImGuiKey_1);  // no collective is left
  ASSERT_TRUE(harness.draw_until([&] { return harness.snapshot().settings.tp == 1; }));
  harness.wait_until_at_rest();
  harness.draw_frames(4);
  EXPECT_FALSE(is_open());
  EXPECT_TRUE(is_shown("Stage"));
}

TEST_F(Inside, ATabsKeyLeavesIt) {
  open(Op::AllReduce);
  press(ImGuiMod_Ctrl | ImGuiKey_3);
  harness.draw_frames(4);
  EXPECT_FALSE(is_open());
  EXPECT_EQ(harness.view().tab, Tab::Memory);
  EXPECT_TRUE(is_shown("Memory"));
}

Settings sequence_parallel() {
  Settings settings = small_settings();
  settings.split = named_split("megatron-sp");
  return settings;
}

class InsideSequenceParallel : public Inside {
 protected:
  InsideSequenceParallel() : Inside(sequence_parallel()) {}
};

TEST_F(InsideSequenceParallel, AReduceScatterAndAnAllGatherHaveHalfTheHops) {
  open(Op::ReduceScatter);
  press(ImGuiKey_RightArrow);
  EXPECT_THAT(texts(), AllOf(Contains("Inside a reduce-scatter"), Contains("Hop 1 of 3"),
                             Contains(HasSubstr("with one term"))));
  press(ImGuiKey_Escape);
  open(Op::AllGather);
  press(ImGuiKey_RightArrow);
  EXPECT_THAT(texts(), AllOf(Contains("Inside an all-gather"), Contains("Hop 1 of 3"),
                             Contains("Each rank passes its own piece on.")));
  EXPECT_THAT(texts(), Not(Contains("the tree: drawn, not run")));
}

Settings many_ranks(int heads) {
  Settings settings = small_settings();
  settings.model.heads = heads;
  settings.model.hidden = 16 * heads;
  settings.model.ffn = 64 * heads;
  settings.tp = heads;
  return settings;
}

/// Every text of the view is inside the window, at the sizes and looks of a lecture too.
void expect_all_inside(StudioHarness& harness, const std::string& what) {
  const ImVec2 size = ImGui::GetMainViewport()->Size;
  for (const mark::Words& words : words_on_screen(harness)) {
    const float width = text_width(words.style, words.text);
    const float left = words.at.x - (words.align == Align::Centre  ? width / 2
                                     : words.align == Align::Right ? width
                                                                   : 0);
    EXPECT_GE(left, -1) << what << ": " << words.text;
    EXPECT_LE(left + width, size.x + 1) << what << ": " << words.text;
    EXPECT_LE(words.at.y + words.style.size, size.y + 2) << what << ": " << words.text;
  }
}

TEST(InsideOfManyRanks, SixteenAndFiveFitInEveryWindow) {
  for (const int ranks : {5, 16})
    for (const PixelSize size : {PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
      StudioHarness harness(size, many_ranks(ranks));
      harness.wait_until_at_rest();
      for (const bool lecture : {false, true}) {
        harness.view().set_lecture(lecture);
        const Program& program = harness.snapshot().plan->program;
        select_step(harness.view(), program, first(program, Op::AllReduce));
        harness.draw_frames(2);
        harness.view().of<CollectiveView>().open = true;
        harness.view().of<CollectiveView>().stand_at(ranks / 2);
        harness.draw_frames(2);
        expect_all_inside(harness, fmt::format("{} ranks, {} wide, lecture {}", ranks, size.width, lecture));
      }
    }
}

TEST(InsideOfARecording, ShowsItsTimesAndSaysWhereTheyAreFrom) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  harness.studio().open_recording("gallery:layer-megatron");
  ASSERT_TRUE(harness.draw_until([&] { return harness.studio().replayed().is_open(); }));
  harness.draw_frames(6);
  const Program& program = harness.snapshot().plan->program;
  select_step(harness.view(), program, first(program, Op::AllReduce));
  harness.draw_frames(2);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_C);
    person.KeyPress(ImGuiKey_RightArrow);
  });
  harness.draw_frames(2);
  ASSERT_TRUE(is_shown(kWindow));
  EXPECT_EQ(harness.view().of<CollectiveView>().hop, 1) << "the arrow did not walk through the recording";
  const std::vector<std::string> texts = texts_in(harness, kWindow);
  EXPECT_THAT(texts, Contains(StartsWith("Recorded on ")));
  EXPECT_THAT(texts, Not(Contains(StartsWith("Measured here"))));
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Escape); });
  harness.draw_frames(2);
  EXPECT_FALSE(is_shown(kWindow));
  EXPECT_TRUE(harness.studio().replayed().is_open()) << "Escape closes only what is on top";
}

}  // namespace inside_test
}  // namespace shardlens::ui
