// A simulated user drives the Inspector: choosing tensors, zooming to the values, following the program.
#include "ui/panels/inspector/inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include "tests/ui/studio_harness.h"
#include "ui/panels/inspector/inspector_view.h"
#include "ui/product/product_view.h"
#include "ui/widgets/stretch.h"

namespace shardlens::ui {
namespace inspector_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const Program& program_of(const StudioHarness& harness) {
  return harness.snapshot().plan->program;
}

StepId step_named(const Program& program, const std::string& name) {
  for (const Step& step : program.steps) {
    if (step.name == name) return step.id;
  }
  return -1;
}

/// Room for all of a wide Inspector's panes.
constexpr PixelSize kTall{1920, 2200};

/// A studio at rest with `step` selected.
class Inspected {
 public:
  explicit Inspected(const std::string& step, PixelSize size = {1920, 1080}) : harness(size) {
    harness.wait_until_at_rest();
    select_step(harness.view(), program_of(harness), step_named(program_of(harness), step));
    harness.draw_frames(2);
  }
  StudioHarness harness;
};

TEST(Inspector, AChipChoosesAnotherTensorOfTheStep) {
  Inspected inspected("mlp.fc");
  const Step& step = program_of(inspected.harness).step(inspected.harness.view().selected_step);
  const TensorId weight = step.inputs[1];
  const std::string chip = "//Inspector/reads:" + program_of(inspected.harness).tensor(weight).name;
  inspected.harness.perform([&](ImGuiTestContext& person) { person.ItemClick(chip.c_str()); });
  EXPECT_EQ(inspected.harness.view().selected_tensor, weight);
  EXPECT_EQ(inspected.harness.view().selected_step, step.id) << "the step stays";
}

TEST(Inspector, TheWheelZoomsAllRanksAndADoubleClickShowsAll) {
  Inspected inspected("mlp.fc");
  inspected.harness.perform([](ImGuiTestContext& person) {
    person.MouseMove("//Inspector/picture of rank 1");
    person.MouseWheelY(6);
  });
  // 32 rows of 384 columns, of which rank 1 holds 96 to 191.
  const InspectorView& zoom = inspected.harness.view().of<InspectorView>();
  EXPECT_GT(zoom.rows.size(), 0);
  EXPECT_LT(zoom.rows.size(), 16);
  EXPECT_LT(zoom.cols.size(), 48);
  EXPECT_NEAR((zoom.rows.begin + zoom.rows.end) / 2, 16, 3) << "about the mouse";
  EXPECT_GE(zoom.cols.begin, 96);
  EXPECT_LE(zoom.cols.end, 192);
  inspected.harness.perform(
      [](ImGuiTestContext& person) { person.ItemDoubleClick("//Inspector/picture of rank 1"); });
  EXPECT_EQ(zoom.rows, Stretch());
}

TEST(Inspector, AClickEnlargesARankAndAnotherShrinksIt) {
  Inspected inspected("mlp.fc");
  inspected.harness.perform(
      [](ImGuiTestContext& person) { person.ItemClick("//Inspector/picture of rank 2"); });
  EXPECT_TRUE(inspected.harness.view().of<InspectorView>().enlarged);
  EXPECT_EQ(inspected.harness.view().selected_rank, 2);
  inspected.harness.perform([](ImGuiTestContext& person) {
    person.SleepNoSkip(1.0f, 0.1f);  // not a double click
    person.ItemClick("//Inspector/large picture of rank 2");
  });
  EXPECT_FALSE(inspected.harness.view().of<InspectorView>().enlarged);
  EXPECT_EQ(inspected.harness.view().selected_rank, -1);
}

TEST(Inspector, NeedsLeadToTheProducerAndFeedsToTheConsumer) {
  Inspected inspected("mlp.gelu");
  inspected.harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inspector/needs 0"); });
  const Program& program = program_of(inspected.harness);
  EXPECT_EQ(program.step(inspected.harness.view().selected_step).name, "mlp.fc");
  inspected.harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inspector/feeds 0"); });
  EXPECT_EQ(program.step(inspected.harness.view().selected_step).name, "mlp.gelu");
}

TEST(Inspector, ATensorOfAnotherStepGivesWayToTheStepsOwn) {
  Inspected inspected("mlp.fc");
  inspected.harness.view().selected_tensor = 0;
  inspected.harness.view().selected_step = step_named(program_of(inspected.harness), "mlp.proj");
  inspected.harness.draw_frames(2);
  const Step& step = program_of(inspected.harness).step(inspected.harness.view().selected_step);
  EXPECT_EQ(inspected.harness.view().of<InspectorView>().tensor, step.outputs.front());
}

void zoom_in(StudioHarness& harness, const char* pane, float notches) {
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMove((std::string("//Inspector/") + pane).c_str());
    person.MouseWheelY(notches);
  });
  for (int i = 0; i < 3; ++i) {  // a frame asks, the next one sends, the Session answers
    harness.draw_frames(3);
    harness.wait_until_at_rest();
  }
}

/// The numbers that stand in the Inspector's panes.
std::vector<mark::Words> numbers_in_panes(StudioHarness& harness) {
  std::vector<mark::Words> numbers;
  const ImRect inside = ImGui::FindWindowByName("Inspector")->Rect();
  for (const mark::Words& words : words_on_screen(harness)) {
    const bool number = words.text.find_first_not_of("-+.e0123456789") == std::string::npos &&
                        words.align == Align::Centre && words.text != "0";  // the middle of the colour scale
    if (number && inside.Contains(words.at)) numbers.push_back(words);
  }
  return numbers;
}

TEST(Inspector, EveryPaneShowsTheSameWindow) {
  Inspected inspected("mlp.proj", kTall);  // Partial: each rank has a term of every number
  StudioHarness& harness = inspected.harness;
  harness.view().wide_inspector = true;
  harness.draw_frames(4);
  zoom_in(harness, "joined picture", 12);
  const std::vector<mark::Words> numbers = numbers_in_panes(harness);
  const InspectorView& zoom = harness.view().of<InspectorView>();
  EXPECT_NEAR(zoom.rows.size(), 3, 0.01);
  // Four ranks, the sum and the difference: six panes of nine numbers each.
  EXPECT_EQ(numbers.size(), 6u * 9u);
}

TEST(Inspector, ARankThatHoldsNothingOfTheWindowSaysWhatItHolds) {
  Inspected inspected("mlp.fc", kTall);
  inspected.harness.view().wide_inspector = true;
  inspected.harness.draw_frames(4);
  zoom_in(inspected.harness, "picture of rank 1", 6);
  const auto texts = texts_in(inspected.harness, "Inspector");
  EXPECT_THAT(texts, ::testing::Contains(::testing::HasSubstr("Rank 0 holds columns 0 … 95")));
}

TEST(Inspector, DigitsGrowWithTheCell) {
  Inspected inspected("mlp.proj", kTall);
  StudioHarness& harness = inspected.harness;
  harness.view().wide_inspector = true;
  harness.draw_frames(4);
  zoom_in(harness, "joined picture", 9);
  const auto small = numbers_in_panes(harness);
  zoom_in(harness, "joined picture", 4);
  const auto large = numbers_in_panes(harness);
  ASSERT_FALSE(small.empty());
  ASSERT_FALSE(large.empty());
  EXPECT_GT(large.front().style.size, small.front().style.size);
}

// 96 sequences of 128 tokens: an activation of 96 columns has more than a million elements on one rank.
TEST(Inspector, NumbersAreThereForATensorThatIsTooLargeToKeep) {
  Settings settings = small_settings();
  settings.batch = 96;
  settings.seq = 128;
  settings.tp = 1;
  StudioHarness harness(kTall, settings);
  harness.wait_until_at_rest();
  select_step(harness.view(), program_of(harness), step_named(program_of(harness), "mlp.fc"));
  harness.view().wide_inspector = true;
  harness.draw_frames(4);
  const auto id = static_cast<size_t>(harness.view().selected_tensor);
  ASSERT_FALSE(harness.snapshot().result->samples[0][id]->has_exact());
  zoom_in(harness, "picture of rank 0", 40);
  EXPECT_GE(numbers_in_panes(harness).size(), 18u) << "the piece and the whole, nine each";
}

TEST(Inspector, AZoomDoesNotOutliveItsTensor) {
  Inspected inspected("mlp.fc");
  StudioHarness& harness = inspected.harness;
  zoom_in(harness, "picture of rank 1", 6);
  const InspectorView& zoom = harness.view().of<InspectorView>();
  ASSERT_GT(zoom.rows.size(), 0);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_2); });
  harness.wait_until_at_rest();
  ASSERT_EQ(harness.snapshot().settings.tp, 2);
  EXPECT_EQ(zoom.rows, Stretch()) << "the same step of another plan";
  zoom_in(harness, "picture of rank 1", 6);
  ASSERT_GT(zoom.rows.size(), 0);
  select_step(harness.view(), program_of(harness), step_named(program_of(harness), "mlp.gelu"));
  harness.draw_frames(2);
  select_step(harness.view(), program_of(harness), step_named(program_of(harness), "mlp.fc"));
  harness.draw_frames(2);
  EXPECT_EQ(zoom.rows, Stretch()) << "another tensor and back";
}

TEST(Inspector, AClickOnANumberOfAProductShowsHowItIsMade) {
  Inspected inspected("mlp.proj", kTall);
  StudioHarness& harness = inspected.harness;
  harness.view().wide_inspector = true;
  harness.draw_frames(4);
  zoom_in(harness, "joined picture", 12);
  const InspectorView& zoom = harness.view().of<InspectorView>();
  const Stretch rows = zoom.rows;
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inspector/picture of rank 2"); });
  const ProductView& opened = harness.view().of<ProductView>();
  EXPECT_TRUE(opened.open && opened.number);
  EXPECT_NEAR(static_cast<double>(opened.row) + 0.5, (rows.begin + rows.end) / 2, 1.01) << "its middle";
}

StepId with_letter(const Program& program, Conjugate letter, Phase phase) {
  for (const Step& step : program.steps)
    if (step.conjugate == letter && step.phase == phase) return step.id;
  return -1;
}

TEST(Inspector, NamesFAndGAndExplainsThemAlsoWhereTheyDoNothing) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const Program& program = program_of(harness);
  for (const Conjugate letter : {Conjugate::F, Conjugate::G})
    for (const Phase phase : {Phase::Forward, Phase::Backward}) {
      const StepId step = with_letter(program, letter, phase);
      ASSERT_GE(step, 0);
      select_step(harness.view(), program, step);
      harness.draw_frames(2);
      const std::vector<std::string> texts = texts_in(harness, "Inspector");
      EXPECT_THAT(texts, Contains(to_string(letter)));
      std::string all;
      for (const std::string& text : texts) all += text + " ";
      // The first words of the engine's own reason, which wraps.
      const std::string why = explain(program, step).substr(0, 12);
      EXPECT_THAT(all, HasSubstr(why)) << program.step(step).name;
      const bool sends = is_collective(program.step(step).op);
      EXPECT_THAT(texts, Contains(sends ? "Why it is here" : "Why nothing moves here"));
    }
}

TEST(Inspector, TheOtherHalfOfFIsAClickAway) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const Program& program = program_of(harness);
  const StepId identity = with_letter(program, Conjugate::F, Phase::Forward);
  select_step(harness.view(), program, identity);
  harness.draw_frames(2);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inspector/other half"); });
  EXPECT_EQ(harness.view().selected_step, program.step(identity).pair);
  EXPECT_EQ(program.step(harness.view().selected_step).op, Op::AllReduce);
}

TEST(Inspector, BetweenTheMatricesOfTheMlpTheStageAnswersWhyNothingIsThere) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const Program& program = program_of(harness);
  for (const char* name : {"mlp.fc", "mlp.gelu"}) {
    const StepId step = step_named(program, name);
    harness.go_to_step(step);
    harness.view().selected_step = -1;
    harness.view().selected_tensor = kNoTensor;
    harness.draw_frames(2);
    const std::string mark = "//Stage/**/##stage_step_" + std::to_string(step) + "_why";
    harness.perform([&](ImGuiTestContext& person) { person.ItemClick(mark.c_str()); });
    harness.draw_frames(2);
    EXPECT_EQ(harness.view().selected_step, step);
    const std::vector<std::string> texts = texts_in(harness, "Inspector");
    EXPECT_THAT(texts, Contains("Why the ranks do not meet here"));
    std::string all;
    for (const std::string& text : texts) all += text + " ";
    EXPECT_THAT(all, HasSubstr("The layouts agree"));
  }
  // Where they do meet, nobody asks.
  select_step(harness.view(), program, step_named(program, "mlp.proj"));
  harness.draw_frames(2);
  EXPECT_THAT(texts_in(harness, "Inspector"), Not(Contains("Why the ranks do not meet here")));
}

}  // namespace inspector_test
}  // namespace shardlens::ui
