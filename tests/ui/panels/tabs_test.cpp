// A simulated user drives the Memory, Traffic and Program tabs: each click selects, chooses, runs or copies
// the clicked item.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <imgui.h>

#include <algorithm>

#include "engine/config/presets.h"
#include "engine/cost/pass_time.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/memory/memory_figures.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/program_view.h"

namespace shardlens::ui {
namespace tabs_test {

using ::testing::HasSubstr;

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
  const MemoryView& memory = harness.view().of<MemoryView>();
  EXPECT_EQ(memory.parameters, static_cast<double>(parameter_count(model_preset("megatron-4.2b"))));
  EXPECT_EQ(memory.device, "a100-80gb");
  EXPECT_EQ(memory.tp, 4);
}

TEST(MemoryTab, TheWallFollowsTheChosenModel) {
  StudioHarness harness;
  open(harness, Tab::Memory);
  const double papers = static_cast<double>(parameter_count(model_preset("megatron-8.3b")));
  EXPECT_EQ(harness.view().of<MemoryView>().parameters, papers) << "a layer so small is no wall";
  const auto parameters_of = [&](const char* preset) {
    Settings settings = harness.snapshot().settings;
    settings.model = model_preset(preset);
    settings.block = Block::Mlp;
    harness.studio().session().send(command::SetSettings{settings});
    harness.wait_until_at_rest();
    return harness.view().of<MemoryView>().parameters;
  };
  const Model& medium = model_preset("gpt2-medium");
  EXPECT_EQ(parameters_of("gpt2-medium"), static_cast<double>(parameter_count(medium)));
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Memory/marks/4.2 B"); });
  EXPECT_EQ(harness.view().of<MemoryView>().parameters,
            static_cast<double>(parameter_count(model_preset("megatron-4.2b"))))
      << "until another is looked at here";
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
  EXPECT_EQ(harness.view().of<MemoryView>().parameters,
            static_cast<double>(parameter_count(model_preset("megatron-2.5b"))));
}

TEST(MemoryTab, AClickOverTheStepsSelectsTheStep) {
  StudioHarness harness;
  open(harness, Tab::Memory);
  const size_t steps = harness.snapshot().plan->program.steps.size();
  const StepId wanted = static_cast<StepId>(steps) - 2;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Memory/page/this layer");
    const ImRect area = person.ItemInfo("//Memory/live bytes").RectFull;
    // Every step is as wide as the others: the middle of the last but one.
    const float share = (static_cast<float>(wanted) + 0.5f) / static_cast<float>(steps);
    person.MouseMoveToPos({area.Min.x + area.GetWidth() * share, area.GetCenter().y});
    person.MouseClick();
  });
  EXPECT_TRUE(harness.view().of<MemoryView>().this_layer);
  EXPECT_EQ(harness.view().selected_step, wanted);
}

TEST(MemoryTab, ARanksBarsSelectTheRankAndLetItGo) {
  StudioHarness harness;
  harness.view().of<MemoryView>().this_layer = true;
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

// The plan's own ratio stands above the table, for the hardware that the transfer is priced on.
TEST(TrafficTab, SaysWhatARankComputesAgainstWhatItCommunicates) {
  Settings settings = small_settings();
  settings.hardware = "h100-80gb";
  StudioHarness harness({1920, 1080}, settings);
  open(harness, Tab::Traffic);
  const Plan& plan = *harness.snapshot().plan;
  const ComputeRatio ratio = compute_ratio(plan.program, plan.cost[0]);
  ASSERT_TRUE(ratio.is_known());
  const std::vector<std::string> words = texts_in(harness, "Traffic");
  EXPECT_THAT(words, ::testing::Contains("computes : communicates"));
  EXPECT_THAT(words, ::testing::Contains(fmt::format("{:.3g}", ratio.ratio())));
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

std::string traffic_as_markdown(StudioHarness& harness) {
  std::string copied;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Traffic/copy traffic/Copy");
    person.ItemClick("//$FOCUSED/as Markdown");
    copied = clipboard();
  });
  return copied;
}

TEST(TrafficTab, TheTableIsCopiedAsMarkdown) {
  StudioHarness harness;
  open(harness, Tab::Traffic);
  const std::string copied = traffic_as_markdown(harness);
  EXPECT_THAT(copied, HasSubstr("| all-reduce |"));
  EXPECT_THAT(copied, HasSubstr("Partial → Replicated"));
}

TEST(TrafficTab, WhatTheOptimizerSendsIsCalledAndSummedUpAsItsOwn) {
  Settings settings = small_settings();
  settings.model.layers = 1;
  settings.model.vocab = 300;
  settings.block = Block::Model;
  settings.tp = 2;
  settings.update = true;
  StudioHarness harness({1920, 1080}, settings);
  open(harness, Tab::Traffic);
  ASSERT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  const std::string copied = traffic_as_markdown(harness);
  EXPECT_THAT(copied, HasSubstr("| update | all-reduce |"));
  EXPECT_THAT(texts_in(harness, "Traffic"), ::testing::Contains("update"));
}

TEST(TrafficTab, ATableUnderTheMouseIsCopied) {
  StudioHarness harness;
  open(harness, Tab::Traffic);
  std::string by_key, by_menu;
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMove("//Traffic/splits/reversed");
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    by_key = clipboard();
    person.MouseMove("//Traffic/splits/reversed");
    person.MouseClick(ImGuiMouseButton_Right);
    person.ItemClick("//$FOCUSED/Copy as Markdown");
    by_menu = clipboard();
  });
  EXPECT_THAT(by_key, HasSubstr("\nreversed "));
  EXPECT_THAT(by_key, HasSubstr("each rank sends, planned"));
  EXPECT_THAT(by_menu, HasSubstr("| reversed | "));
  EXPECT_EQ(harness.snapshot().settings.split.name, "megatron") << "and nothing else happens";
}

TEST(ProgramTab, BothTablesAreCopiedFromUnderTheMouse) {
  StudioHarness harness;
  open(harness, Tab::Program);
  const Program& program = harness.snapshot().plan->program;
  const Step& product = program.steps[2];
  std::string steps, tensors;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick(("//Program/**/##step " + std::to_string(product.id)).c_str());
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    steps = clipboard();
    person.MouseMove(("//Program/**/##" + program.tensor(product.inputs.front()).name).c_str());
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    tensors = clipboard();
  });
  EXPECT_EQ(static_cast<size_t>(std::count(steps.begin(), steps.end(), '\n')), program.steps.size() + 2);
  EXPECT_EQ(static_cast<size_t>(std::count(tensors.begin(), tensors.end(), '\n')),
            product.inputs.size() + product.outputs.size() + 2);
  EXPECT_THAT(tensors, HasSubstr("\nreads "));
}

/// The row of `step` in the Program tab. Found by what it is, so that no test depends on how steps are
/// numbered on the screen.
std::string program_row(StepId step) {
  return "//Program/**/##step " + std::to_string(step);
}

StepId step_named(const Program& program, const std::string& name) {
  const auto found = std::find_if(program.steps.begin(), program.steps.end(),
                                  [&](const Step& step) { return step.name == name; });
  return found->id;
}

TEST(ProgramTab, WordsTypedFilterTheSteps) {
  StudioHarness harness;
  open(harness, Tab::Program);
  const Program& program = harness.snapshot().plan->program;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Program/##filter");
    person.KeyChars("all-reduce backward");
    person.Yield(2);  // frames: a letter is typed in one and filters in the next
    for (const Step& step : program.steps) {
      if (step.op != Op::AllReduce) continue;
      EXPECT_EQ(person.ItemExists(program_row(step.id).c_str()), step.phase == Phase::Backward) << step.id;
    }
    EXPECT_FALSE(person.ItemExists(program_row(0).c_str()));
  });
  EXPECT_EQ(harness.view().of<ProgramView>().filter, "all-reduce backward");
}

TEST(ProgramTab, ARowSelectsItsStepAndItsTensorsAreListed) {
  StudioHarness harness;
  open(harness, Tab::Program);
  const Program& program = harness.snapshot().plan->program;
  const StepId product = step_named(program, "attn.qkv");
  const TensorId weight = program.step(product).inputs[1];
  ASSERT_NE(harness.view().selected_step, product);
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick(program_row(product).c_str());
    person.ItemClick(("//Program/**/##" + program.tensor(weight).name).c_str());
  });
  EXPECT_EQ(harness.view().selected_step, product);
  EXPECT_EQ(harness.view().selected_tensor, weight);
}

TEST(ProgramTab, TheSelectedStepIsCopiedAsText) {
  StudioHarness harness;
  open(harness, Tab::Program);
  const StepId product = step_named(harness.snapshot().plan->program, "attn.qkv");
  std::string copied;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick(program_row(product).c_str());
    person.ItemClick("//Program/copy program/Copy");
    person.ItemClick("//$FOCUSED/selected step/selected step as text");
    copied = clipboard();
  });
  EXPECT_THAT(copied, HasSubstr("QKV = U · Wqkv + b"));
  EXPECT_EQ(std::count(copied.begin(), copied.end(), '\n'), 3) << "names, rule, one step";
}

}  // namespace tabs_test
}  // namespace shardlens::ui
