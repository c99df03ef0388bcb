// A simulated user drives the Inspector: choosing tensors, zooming to the values, following the program.
#include "ui/panels/inspector/inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ui/studio_harness.h"
#include "ui/panels/inspector/inspector_view.h"
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

/// A studio at rest with `step` selected.
class Inspected {
 public:
  explicit Inspected(const std::string& step) {
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
  const InspectorView& zoom = inspected.harness.view().of<InspectorView>();
  EXPECT_GT(zoom.rows.size(), 0);
  EXPECT_LT(zoom.rows.size(), 0.5);
  EXPECT_LT(zoom.cols.size(), 0.5);
  EXPECT_NEAR((zoom.rows.begin + zoom.rows.end) / 2, 0.5, 0.1) << "about the mouse";
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

// 96 sequences of 128 tokens: a Replicated activation of 96 columns has more than a million elements.
TEST(Inspector, SaysWhichTensorIsAPictureOnly) {
  Settings settings = small_settings();
  settings.batch = 96;
  settings.seq = 128;
  settings.tp = 1;
  StudioHarness harness({1920, 1080}, settings);
  harness.wait_until_at_rest();
  select_step(harness.view(), program_of(harness), step_named(program_of(harness), "mlp.fc"));
  const auto says = [&](TensorId tensor) {
    harness.view().selected_tensor = tensor;
    harness.draw_frames(2);
    bool found = false;
    harness.perform([&](ImGuiTestContext& person) { found = person.ItemExists("//Inspector/picture only"); });
    return found;
  };
  const Step& step = program_of(harness).step(harness.view().selected_step);
  EXPECT_FALSE(harness.snapshot().result->not_exact.empty());
  EXPECT_TRUE(says(step.outputs.front()));
  EXPECT_FALSE(says(step.inputs[1])) << "the weight is small";
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
