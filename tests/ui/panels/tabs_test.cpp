// The Memory, Traffic and Program tabs driven by a scripted person: what is clicked is what is selected,
// chosen, run or copied.
#include <gmock/gmock.h>
#include <imgui.h>

#include <algorithm>

#include "engine/config/presets.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/memory_figures.h"

namespace shardlens::ui {
namespace {

using testing::HasSubstr;

void open(StudioHarness& harness, Tab tab) {
  harness.wait_until_at_rest();
  harness.view().tab = tab;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
}

/// What was copied; only while the scripted person acts, who has a clipboard of their own.
std::string clipboard() {
  const char* text = ImGui::GetClipboardText();
  return text == nullptr ? "" : text;
}

StepId first_collective(const Program& program) {
  const auto found = std::find_if(program.steps.begin(), program.steps.end(),
                                  [](const Step& step) { return is_collective(step.op); });
  return found->id;
}

TEST(MemoryTab, DeviceModelAndColumnAreChosenByClicks) {
  StudioHarness harness;
  open(harness, Tab::Memory);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Memory/marks/4.2 B");
    person.ItemClick("//Memory/device/A100 80 GB");
    person.ItemClick("//Memory/T = 4");
  });
  const MemoryView& memory = harness.view().memory;
  EXPECT_EQ(memory.parameters, static_cast<double>(parameter_count(model_preset("megatron-4.2b"))));
  EXPECT_EQ(memory.device, "a100-80gb");
  EXPECT_EQ(memory.tp, 4);
}

TEST(MemoryTab, TheSliderStopsAtAMarkThatIsNear) {
  StudioHarness harness;
  open(harness, Tab::Memory);
  harness.perform([](ImGuiTestContext& person) {
    const ImGuiTestItemInfo mark = person.ItemInfo("//Memory/marks/2.5 B");
    const ImGuiTestItemInfo slider = person.ItemInfo("//Memory/parameters");
    person.MouseMoveToPos({mark.RectFull.GetCenter().x + 3, slider.RectFull.GetCenter().y});
    person.MouseClick();
  });
  EXPECT_EQ(harness.view().memory.parameters,
            static_cast<double>(parameter_count(model_preset("megatron-2.5b"))));
}

TEST(MemoryTab, AClickOverTheStepsSelectsTheStep) {
  StudioHarness harness;
  open(harness, Tab::Memory);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Memory/page/this layer");
    const ImRect area = person.ItemInfo("//Memory/live bytes").RectFull;
    person.MouseMoveToPos({area.Min.x + 2, area.GetCenter().y});
    person.MouseClick();
  });
  EXPECT_TRUE(harness.view().memory.this_layer);
  EXPECT_EQ(harness.view().selected_step, 0);
}

TEST(MemoryTab, ARanksBarsSelectTheRankAndLetItGo) {
  StudioHarness harness;
  harness.view().memory.this_layer = true;
  open(harness, Tab::Memory);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Memory/rank bars/rank 2"); });
  EXPECT_EQ(harness.view().selected_rank, 2);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Memory/rank bars/rank 2"); });
  EXPECT_EQ(harness.view().selected_rank, -1);
}

TEST(TrafficTab, ARowSelectsItsStep) {
  StudioHarness harness;
  open(harness, Tab::Traffic);
  const StepId step = first_collective(harness.snapshot().plan->program);
  ASSERT_NE(harness.view().selected_step, step);
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick(("//Traffic/conversions/step " + std::to_string(step)).c_str());
  });
  EXPECT_EQ(harness.view().selected_step, step);
}

TEST(TrafficTab, ASplitThatIsClickedIsRun) {
  StudioHarness harness;
  open(harness, Tab::Traffic);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Traffic/splits/reversed"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.split.name, "reversed");
  EXPECT_EQ(harness.snapshot().state, RunState::Done);
}

TEST(TrafficTab, OneRankIsOfferedDegrees) {
  Settings settings = small_settings();
  settings.tp = 1;
  StudioHarness harness({1920, 1080}, settings);
  open(harness, Tab::Traffic);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Traffic/degrees/T = 2"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.tp, 2);
}

TEST(TrafficTab, TheTableIsCopiedAsMarkdown) {
  StudioHarness harness;
  open(harness, Tab::Traffic);
  std::string copied;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Traffic/copy traffic/Copy");
    person.ItemClick("//$FOCUSED/as Markdown");
    copied = clipboard();
  });
  EXPECT_THAT(copied, HasSubstr("| all-reduce |"));
  EXPECT_THAT(copied, HasSubstr("Partial → Replicated"));
}

TEST(ProgramTab, WordsTypedFilterTheSteps) {
  StudioHarness harness;
  open(harness, Tab::Program);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Program/##filter");
    person.KeyChars("all-reduce backward");
    EXPECT_TRUE(person.ItemExists("**/##step 24") || person.ItemExists("**/##step 35"));
    EXPECT_FALSE(person.ItemExists("**/##step 0"));
  });
  EXPECT_EQ(harness.view().program_filter, "all-reduce backward");
}

TEST(ProgramTab, ARowSelectsItsStepAndItsTensorsAreListed) {
  StudioHarness harness;
  open(harness, Tab::Program);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("**/##step 2");
    person.ItemClick("**/##transformer.h.0.attn.c_attn.weight");
  });
  EXPECT_EQ(harness.view().selected_step, 2);
  const Program& program = harness.snapshot().plan->program;
  EXPECT_EQ(program.tensor(harness.view().selected_tensor).name, "transformer.h.0.attn.c_attn.weight");
}

TEST(ProgramTab, TheSelectedStepIsCopiedAsText) {
  StudioHarness harness;
  open(harness, Tab::Program);
  std::string copied;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("**/##step 2");
    person.ItemClick("//Program/copy program/Copy");
    person.ItemClick("//$FOCUSED/selected step/selected step as text");
    copied = clipboard();
  });
  EXPECT_THAT(copied, HasSubstr("QKV = U · Wqkv + b"));
  EXPECT_EQ(std::count(copied.begin(), copied.end(), '\n'), 3) << "names, rule, one step";
}

}  // namespace
}  // namespace shardlens::ui
