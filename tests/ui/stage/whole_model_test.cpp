// A simulated user works with the whole model: opens, steps through and closes its parts. What cannot run is
// shown as planned, and a click runs both losses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/plan/sections.h"
#include "ui/plan/shown_plan.h"

namespace shardlens::ui {
namespace whole_model_test {

using ::testing::HasSubstr;

Settings tiny_model() {
  Settings settings;
  settings.model = model_preset("gpt2-tiny");
  settings.split = named_split("megatron");
  settings.block = Block::Model;
  settings.tp = 2;
  settings.batch = 2;
  settings.seq = 16;
  return settings;
}

const Program& program_of(StudioHarness& harness) {
  return shown_plan(harness.snapshot())->program;
}

TEST(WholeModel, APartIsOpenedWalkedThroughAndClosed) {
  StudioHarness harness({1280, 720}, tiny_model());
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.view().open_section, kWholeModel);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/**/##stage_section_2"); });
  EXPECT_EQ(harness.view().open_section, 2);
  const Program& program = program_of(harness);
  const Sections sections = make_sections(program);
  EXPECT_EQ(program.step(harness.view().selected_step).layer, 1);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Home); });
  EXPECT_EQ(harness.view().selected_step, sections.list[2].steps.front());
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_RightArrow, 3); });
  EXPECT_EQ(harness.view().selected_step, sections.list[2].steps[3]);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_End); });
  EXPECT_EQ(harness.view().selected_step, sections.list[2].steps.back()) << "the layer's last backward step";
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_RightArrow); });
  EXPECT_EQ(harness.view().selected_step, sections.list[2].steps.back()) << "one does not leave the layer";
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Shift | ImGuiKey_LeftArrow); });
  EXPECT_TRUE(is_collective(program.step(harness.view().selected_step).op));
  EXPECT_EQ(harness.view().open_section, 2);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_Backspace); });
  EXPECT_EQ(harness.view().open_section, kWholeModel);
}

TEST(WholeModel, TheStripSaysWhatARankHoldsAndHowLargeTheStreamIs) {
  StudioHarness harness({1920, 1080}, tiny_model());
  harness.wait_until_at_rest();
  const std::vector<std::string> texts = texts_in(harness, "Stage");
  EXPECT_THAT(texts, ::testing::Contains("rms of the stream"));
  EXPECT_THAT(texts, ::testing::Contains(HasSubstr(" a rank")));
  EXPECT_THAT(texts, ::testing::Contains(HasSubstr("Each rank holds ")));
}

// The largest logit: the ranks' shares of it are compared, and not added.
TEST(WholeModel, APartialMaximumIsNoSum) {
  StudioHarness harness({1920, 1080}, tiny_model());
  harness.wait_until_at_rest();
  const Program& program = program_of(harness);
  for (const Step& step : program.steps)
    if (step.op == Op::VocabMax) {
      harness.view().open_section =
          sections_of(shared_shown_plan(harness.snapshot())).of_step[static_cast<size_t>(step.id)];
      harness.go_to_step(step.id);
    }
  const std::vector<std::string> texts = texts_in(harness, "Stage");
  EXPECT_THAT(texts, ::testing::Contains("max over 2"));
  EXPECT_THAT(texts, ::testing::Contains("vocabulary-parallel"));
}

TEST(WholeModel, AMatrixCardLeadsToItsProductInTheLayerThatIsLookedAt) {
  StudioHarness harness({1280, 720}, tiny_model());
  harness.wait_until_at_rest();
  const auto click = [&] {
    harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/attn.qkv/show"); });
    return program_of(harness).step(harness.view().selected_step).name;
  };
  EXPECT_EQ(click(), "h.0.attn.qkv");
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/**/##stage_section_2"); });
  EXPECT_EQ(click(), "h.1.attn.qkv");
}

TEST(WholeModel, TheLineAboveAPartLeadsOnAndBack) {
  StudioHarness harness({1280, 720}, tiny_model());
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Stage/**/##stage_section_1");
    person.ItemClick("//Stage/##stage_next_section");
  });
  EXPECT_EQ(harness.view().open_section, 2);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/##stage_whole_model"); });
  EXPECT_EQ(harness.view().open_section, kWholeModel);
}

TEST(WholeModel, AStepSelectedElsewhereOpensItsPart) {
  StudioHarness harness({1280, 720}, tiny_model());
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/**/##stage_section_1"); });
  const Sections sections = make_sections(program_of(harness));
  select_step(harness.view(), program_of(harness), sections.list[4].steps.front());
  harness.draw_frames(3);
  EXPECT_EQ(harness.view().open_section, 4);
}

TEST(WholeModel, IsChosenInSetupAndLeftAgain) {
  Settings settings = tiny_model();
  settings.block = Block::Layer;
  StudioHarness harness({1920, 1080}, settings);
  harness.wait_until_at_rest();
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/Part/choice");
    person.ItemClick("//$FOCUSED/whole model");
  });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.block, Block::Model);
  ASSERT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  EXPECT_TRUE(harness.snapshot().result->parity_summary.agrees);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/Micro-batches/slider"); });
  harness.wait_until_at_rest();
  EXPECT_GT(harness.snapshot().settings.micro_batches, 1);
}

// The list says what each choice keeps; the choice is planned, run and remembered in the settings.
TEST(WholeModel, RecomputationIsChosenInSetup) {
  StudioHarness harness({1920, 1080}, tiny_model());
  harness.wait_until_at_rest();
  const auto kept = [&harness] {  // wherever it lies
    int64_t most = 0;
    for (const BytesByKind& live : harness.snapshot().plan->memory[0].live_bytes)
      most = std::max(most, live[static_cast<size_t>(MemoryKind::Activation)]);
    return most;
  };
  const int64_t all = kept();
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/Recompute/choice");
    person.ItemClick("//$FOCUSED/###attention");
  });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.recompute, Recompute::Selective);
  ASSERT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  EXPECT_TRUE(harness.snapshot().result->parity_summary.agrees);
  const int64_t without_probabilities = kept();
  EXPECT_LT(without_probabilities, all);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/Recompute/choice");
    person.ItemClick("//$FOCUSED/###each layer");
  });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.recompute, Recompute::Full);
  EXPECT_LT(kept(), without_probabilities);
}

TEST(WholeModel, ABatchThatReplicasDoNotDivideIsRefusedWithAWayOut) {
  Settings settings = tiny_model();
  settings.batch = 3;
  settings.dp = 2;
  StudioHarness harness({1920, 1080}, settings);
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().state, RunState::Refused);
  EXPECT_THAT(harness.snapshot().message, HasSubstr("Try batch 2 or 4"));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/refusal/try batch 4"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.batch, 4);
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
}

TEST(WholeModel, SeventyTwoLayersArePlannedNotRun) {
  Settings settings = tiny_model();
  settings.model = model_preset("megatron-8.3b");
  settings.tp = 4;
  settings.batch = 8;
  settings.seq = 1024;
  StudioHarness harness({1280, 720}, settings);
  harness.wait_until_at_rest();
  EXPECT_TRUE(harness.snapshot().only_planned());
  EXPECT_THAT(texts_in(harness, "Stage"), ::testing::Contains("Planned, not run"));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Bar/Run"); });
  harness.wait_until_at_rest();
  EXPECT_TRUE(harness.snapshot().only_planned()) << "it was tried again";
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/**/##stage_section_60"); });
  EXPECT_EQ(program_of(harness).step(harness.view().selected_step).layer, 59);
  const StepId opened = harness.view().selected_step;
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_RightArrow); });
  EXPECT_GT(harness.view().selected_step, opened) << "a plan can be walked through too";
}

TEST(WholeModel, TheLossLensRunsBoth) {
  StudioHarness harness({1920, 1080}, tiny_model());
  harness.wait_until_at_rest();
  harness.view().tab = Tab::Traffic;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Traffic/###run both losses"); });
  harness.wait_until_at_rest();
  const LossLens& lens = *harness.snapshot().lens;
  ASSERT_TRUE(lens.fused.measured && lens.gathered.measured);
  EXPECT_NEAR(lens.fused.loss, lens.gathered.loss, 1e-5);
}

}  // namespace whole_model_test
}  // namespace shardlens::ui
