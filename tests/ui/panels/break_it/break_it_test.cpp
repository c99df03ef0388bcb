// A simulated user drives the Break it tab: cards plant mistakes, also those that need other settings; the
// strip leads to the tensor at which an error starts; and every panel shows the broken run, the sound one and
// their difference, by one switch.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <imgui_internal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "engine/config/presets.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"
#include "ui/panels/break_it/break_parts.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/plan/shown_plan.h"

namespace shardlens::ui {
namespace break_it_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kTimeoutSeconds = 120;

/// A whole model of two layers that trains in milliseconds.
Settings small_whole_model() {
  Settings settings;
  settings.model = model_preset("gpt2-tiny");
  settings.model.layers = 2;
  settings.model.hidden = 32;
  settings.model.ffn = 128;
  settings.block = Block::Model;
  settings.tp = 2;
  settings.batch = 2;
  settings.seq = 16;
  return settings;
}

std::shared_ptr<const BreakSnapshot> wait_until_idle(StudioHarness& harness) {
  const auto last = harness.studio().breaks().wait_until_idle(kTimeoutSeconds);
  harness.draw_frames(4);
  return last;
}

void open_tab(StudioHarness& harness) {
  harness.wait_until_at_rest();
  harness.view().tab = Tab::BreakIt;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  wait_until_idle(harness);
}

void click_in(StudioHarness& harness, const char* child, const std::string& item) {
  harness.perform([&](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo((std::string("//Break it/") + child).c_str()).ID);
    person.ItemClick(item.c_str());
  });
}

ImRect place_of(StudioHarness& harness, const char* item) {
  ImRect place;
  harness.perform([&](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Break it/results").ID);
    place = person.ItemInfo(item).RectFull;
  });
  return place;
}

const BreakChoice& choice_of(const BreakSnapshot& snapshot, Fault fault) {
  return snapshot.choices.at(static_cast<size_t>(fault));
}

const Result& own_result(StudioHarness& harness) {
  return *harness.studio().session().snapshot()->result;
}

TEST(BreakItTab, ACardPlantsAndTheStripLeadsToWhereItStarts) {
  for (const PixelSize size : {PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
    StudioHarness harness(size, small_whole_model());
    open_tab(harness);
    const Result* const before = &own_result(harness);
    click_in(harness, "faults", "skip-g");
    const auto last = wait_until_idle(harness);
    ASSERT_EQ(last->state, BreakState::Done) << last->message;
    EXPECT_EQ(last->planted, Fault::SkipG);
    EXPECT_EQ(last->report->steps.size(), 50u);
    EXPECT_EQ(&own_result(harness), before) << "the run of the settings is left alone";
    EXPECT_EQ(harness.snapshot().result, last->report->probes[0]->pass.broken)
        << "and every panel shows this";
    std::string copied;
    harness.perform([&](ImGuiTestContext& person) {
      person.SetRef(person.WindowInfo("//Break it/results").ID);
      person.MouseMove("starts at");
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
      copied = ImGui::GetClipboardText();
    });
    EXPECT_NE(copied.find("h.0.attn.proj.sum"), std::string::npos) << copied;
    harness.view().selected_tensor = kNoTensor;
    click_in(harness, "results", "starts at");
    harness.draw_frames(2);
    const Program& shown = harness.snapshot().plan->program;
    ASSERT_GE(harness.view().selected_tensor, 0);
    EXPECT_EQ(shown.tensor(harness.view().selected_tensor).name, "h.0.attn.proj.sum");
    click_in(harness, "results", "Switch off");
    EXPECT_FALSE(wait_until_idle(harness)->planted);
    EXPECT_EQ(harness.snapshot().result.get(), before);
  }
}

// One switch for Stage, Inspector and Timeline, and everything on them is of the real runs.
TEST(BreakItTab, EveryPanelShowsTheBrokenRunTheSoundOneAndTheDifference) {
  StudioHarness harness;
  open_tab(harness);
  click_in(harness, "faults", "skip-f");
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, BreakState::Done) << last->message;
  harness.view().tab = Tab::Stage;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  const BreakProbe& probe = *last->report->probes[0];
  const TensorId wrong = probe.first_error().tensor;
  EXPECT_EQ(harness.view().selected_tensor, wrong) << "where it starts is selected";
  EXPECT_EQ(harness.snapshot().result, probe.pass.broken);
  const auto hash_of = [](const Result& result, const std::string& name, size_t rank) {
    for (const Tensor& tensor : result.plan->program.tensors)
      if (tensor.name == name)
        return fmt::format("{:016x}", result.samples[rank][static_cast<size_t>(tensor.id)]->hash);
    return std::string();
  };
  const std::string name = last->report->plan->program.tensor(wrong).name;
  EXPECT_THAT(texts_in(harness, "Inspector"), Contains("Ranks hold different bits: 4 hashes"));
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_THAT(texts_in(harness, "Inspector"), Contains(hash_of(*probe.pass.broken, name, rank)));
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("≠"));
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("left out"));
  EXPECT_THAT(texts_in(harness, "Stage"), Contains(HasSubstr("0 bytes of ")));
  EXPECT_THAT(texts_in(harness, "Timeline"), Contains("f's all-reduce left out"));
  EXPECT_THAT(texts_in(harness, "Timeline"), Contains(HasSubstr("broken run: ")));
  EXPECT_THAT(texts_in(harness, "Bar"), Contains(HasSubstr("the broken run")));

  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Inspector/side sound"); });
  harness.draw_frames(4);
  EXPECT_EQ(harness.snapshot().result, probe.pass.sound);
  EXPECT_EQ(harness.snapshot().plan->program.tensor(harness.view().selected_tensor).name, name);
  EXPECT_THAT(texts_in(harness, "Inspector"),
              Contains(AllOf(HasSubstr("4 equal hashes"), HasSubstr(hash_of(*probe.pass.sound, name, 0)))));
  EXPECT_THAT(texts_in(harness, "Stage"), Not(Contains("≠")));
  EXPECT_THAT(texts_in(harness, "Stage"), Not(Contains("left out")));
  EXPECT_THAT(texts_in(harness, "Timeline"), Contains(HasSubstr("sound run: ")));
  EXPECT_THAT(texts_in(harness, "Bar"), Contains(HasSubstr("the sound run")));

  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/side/difference"); });
  harness.draw_frames(4);
  EXPECT_EQ(harness.snapshot().result, probe.pass.difference);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("≠"));
}

TEST(BreakItTab, UndoAndEscapeTakeTheMistakeBackAndRedoPlantsItAgain) {
  StudioHarness harness;
  open_tab(harness);
  Settings other = harness.snapshot().settings;
  other.tp = 2;
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Bar/T/2"); });
  harness.wait_until_at_rest();
  const auto press = [&](ImGuiKeyChord key) {
    harness.perform([key](ImGuiTestContext& person) {
      person.WindowFocus("//Break it");
      person.KeyPress(key);
      person.Yield(2);
    });
    return wait_until_idle(harness);
  };
  wait_until_idle(harness);
  click_in(harness, "faults", "skip-f");
  ASSERT_EQ(wait_until_idle(harness)->planted, Fault::SkipF);
  EXPECT_FALSE(press(ImGuiMod_Ctrl | ImGuiKey_Z)->planted);
  EXPECT_EQ(harness.snapshot().settings.tp, 2) << "the change of T before it stays";
  EXPECT_EQ(press(ImGuiMod_Ctrl | ImGuiKey_Y)->planted, Fault::SkipF);
  EXPECT_FALSE(press(ImGuiKey_Escape)->planted);
  EXPECT_EQ(harness.snapshot().result.get(), &own_result(harness));
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.tp, 4) << "now the change of T is the last one";
}

TEST(BreakItTab, ChangingTheSettingsElsewhereShowsTheirRunAndTheTabShowsTheMistakeAgain) {
  StudioHarness harness;
  open_tab(harness);
  click_in(harness, "faults", "skip-g");
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, BreakState::Done) << last->message;
  harness.view().tab = Tab::Stage;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  EXPECT_EQ(harness.snapshot().result, last->report->probes[0]->pass.broken);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Bar/T/2"); });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().result->plan->program.tp(), 2);
  harness.view().tab = Tab::BreakIt;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  EXPECT_EQ(harness.snapshot().result, last->report->probes[0]->pass.broken);
  EXPECT_EQ(harness.snapshot().settings.tp, 2) << "Bar and Setup show the settings";
  harness.view().tab = Tab::Stage;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  harness.perform([&](ImGuiTestContext& person) {  // at a script's end the focus goes back to where it was
    person.ItemClick("//Bar/parity");
    person.Yield(4);
    EXPECT_EQ(harness.view().tab, Tab::BreakIt) << "the chip leads to the mistake";
  });
}

TEST(BreakItTab, AFaultThatIsInvisibleAtFirstShowsLater) {
  StudioHarness harness({1920, 1080}, small_whole_model());
  open_tab(harness);
  click_in(harness, "faults", "bias-before-reduction");
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, BreakState::Done) << last->message;
  EXPECT_FALSE(last->report->probes[0]->finds());
  EXPECT_TRUE(last->report->probes[1]->finds());
  harness.perform([&](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Break it/results").ID);
    EXPECT_TRUE(person.ItemExists("starts at")) << "the first step in which something is wrong is shown";
    person.ItemClick("probe/step 1");
    person.Yield(2);
    EXPECT_FALSE(person.ItemExists("starts at")) << "in step 1 every tensor is right";
    EXPECT_EQ(harness.view().of<BreakView>().probe, 1);
  });
}

TEST(BreakItTab, WhatNeedsOtherSettingsIsPlantedInACopyAtOnce) {
  StudioHarness harness({1920, 1080}, small_whole_model());
  open_tab(harness);
  EXPECT_FALSE(choice_of(*harness.studio().breaks().snapshot(), Fault::GeluOnPartial).possible);
  EXPECT_THAT(texts_in(harness, "Break it"), Contains("needs split reversed"));
  click_in(harness, "faults", "gelu-on-partial");
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, BreakState::Done) << last->message;
  EXPECT_EQ(last->report->plan->program.settings.split.name, "reversed");
  EXPECT_EQ(harness.snapshot().settings.split.name, "megatron") << "the settings stay as they are";
  EXPECT_TRUE(last->report->probes[0]->finds());
}

TEST(BreakItTab, OneLayerRunsOnceAndOffersAModelThatTrains) {
  StudioHarness harness;
  open_tab(harness);
  click_in(harness, "faults", "skip-f");
  auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, BreakState::Done) << last->message;
  EXPECT_EQ(last->report->wanted_steps, 0);
  EXPECT_TRUE(last->report->probes[0]->finds());
  std::vector<std::string> found;
  for (const Finding& finding : findings(*last->report)) found.push_back(found_words(*last->report, finding));
  EXPECT_EQ(found[static_cast<size_t>(Check::ClipNorm)], "nothing: one layer has no global norm");
  EXPECT_EQ(found[static_cast<size_t>(Check::Loss)], "nothing: one pass has no curve");
  const Settings before = harness.snapshot().settings;
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Break it/page/how to see it"); });
  click_in(harness, "results", "train toy");
  ASSERT_TRUE(harness.draw_until([&] { return harness.studio().breaks().snapshot()->is_active(); }));
  last = harness.studio().breaks().snapshot();
  ASSERT_TRUE(harness.draw_until([&] { return harness.studio().breaks().snapshot()->report != nullptr; }));
  last = harness.studio().breaks().snapshot();
  EXPECT_EQ(last->planted, Fault::SkipF);
  EXPECT_EQ(last->report->plan->program.settings.model.name, "gpt2-tiny");
  EXPECT_EQ(last->report->wanted_steps, 50);
  EXPECT_EQ(harness.snapshot().settings, before);
}

TEST(BreakItTab, StopGivesUpWhatRuns) {
  Settings slow = small_whole_model();
  slow.model.hidden = 256;
  slow.model.ffn = 1024;
  slow.seq = 256;
  slow.batch = 8;
  StudioHarness harness({1920, 1080}, slow);
  open_tab(harness);
  click_in(harness, "faults", "skip-g");
  ASSERT_TRUE(harness.draw_until([&] { return harness.studio().breaks().snapshot()->report != nullptr; }));
  click_in(harness, "results", "Stop");
  const auto last = wait_until_idle(harness);
  EXPECT_EQ(last->state, BreakState::Stopped);
  EXPECT_LT(last->report->steps.size(), 50u);
}

TEST(BreakItTab, EverythingIsWholeAtBothSizes) {
  for (const PixelSize size : {PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
    StudioHarness harness(size, small_whole_model());
    open_tab(harness);
    click_in(harness, "faults", "tied-gradient-lost");
    ASSERT_EQ(wait_until_idle(harness)->state, BreakState::Done);
    harness.perform([&](ImGuiTestContext& person) {
      const ImGuiTestItemInfo results = person.WindowInfo("//Break it/results");
      ASSERT_NE(results.Window, nullptr);
      EXPECT_EQ(results.Window->ScrollMax.y, 0) << "nothing to scroll at " << size.width;
      person.SetRef(results.ID);
      const auto expect_whole = [&](const std::vector<const char*>& items) {
        std::vector<ImRect> places;
        for (const char* item : items) {
          const ImGuiTestItemInfo info = person.ItemInfo(item);
          ASSERT_NE(info.ID, 0u) << item;
          EXPECT_TRUE(results.Window->InnerRect.Contains(info.RectFull)) << item << " at " << size.width;
          for (const ImRect& other : places) EXPECT_FALSE(other.Overlaps(info.RectFull)) << item;
          places.push_back(info.RectFull);
        }
        EXPECT_GT(places[0].GetHeight(), 90) << "large enough to read at " << size.width;
      };
      const std::vector<const char*> curves{"##broken loss", "##broken norm", "Switch off"};
      if (size.width >= 1920)
        expect_whole({"error of every tensor", "side/broken", "Switch off"});
      else
        expect_whole({"error of every tensor", "Switch off"});
      person.ItemClick("//Break it/page/how to see it");
      person.SetRef(person.WindowInfo("//Break it/results").ID);
      person.Yield(2);
      expect_whole(curves);
      EXPECT_EQ(results.Window->ScrollMax.y, 0);
    });
  }
}

TEST(BreakItTab, AKeyOpensItAndItsTabIsRemembered) {
  const std::filesystem::path state =
      std::filesystem::path(::testing::TempDir()) / ("break-it-" + std::to_string(getpid()) + ".json");
  {
    StudioHarness harness({1280, 720}, small_settings(), state);
    // In one script: where a script ends, the focus goes back to where it began.
    harness.perform([&](ImGuiTestContext& person) {
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_9);
      person.Yield(4);
      EXPECT_EQ(harness.view().tab, Tab::BreakIt);
    });
    harness.view().tab = Tab::BreakIt;
    harness.view().focus_tab = true;
    harness.draw_frames(4);
  }
  {
    StudioHarness again({1280, 720}, small_settings(), state);
    EXPECT_EQ(again.view().tab, Tab::BreakIt);
  }
  std::filesystem::remove(state);
}

TEST(BreakItTab, EveryFaultHasACommand) {
  for (const Fault fault : all_faults())
    EXPECT_THAT(find_command(std::string("break.") + to_string(fault)).title, HasSubstr(to_string(fault)));
}

BreakProbe probe_of(const std::vector<double>& errors) {
  BreakProbe probe;
  for (const double error : errors) {
    probe.errors.push_back({static_cast<TensorId>(probe.errors.size()),
                            static_cast<StepId>(probe.errors.size()), error, false, error<1, error> 0.1});
  }
  return probe;
}

// The all-reduce's input has the letter of its result, and a sign.
TEST(BreakItTab, TheBarsOfOneBlockAreNamed) {
  Settings settings = small_settings();
  settings.block = Block::Mlp;
  StudioHarness harness({1280, 720}, settings);
  open_tab(harness);
  click_in(harness, "faults", "bias-before-reduction");
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, BreakState::Done) << last->message;
  const ImRect bars = place_of(harness, "error of every tensor");
  std::vector<std::string> named;
  for (const mark::Words& words : words_on_screen(harness))
    if (bars.Contains(words.at)) named.push_back(words.text);
  EXPECT_EQ(std::count(named.begin(), named.end(), "Y"), 1);
  EXPECT_THAT(named, AllOf(Contains("H"), Contains("G"), Contains("Z Σ"), Contains("Y Σ"), Contains("dH")));
}

// Of a whole layer too, most of them upwards. A click on a bar selects the tensor of its name.
TEST(BreakItTab, EveryBarOfALayerIsNamed) {
  Settings settings = small_settings();
  settings.block = Block::Layer;
  settings.tp = 2;
  StudioHarness harness({2400, 1000}, settings);
  open_tab(harness);
  click_in(harness, "faults", "skip-f");
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, BreakState::Done) << last->message;
  const BreakProbe& probe = *last->report->probes.front();
  const auto computed = std::count_if(probe.errors.begin(), probe.errors.end(),
                                      [](const TensorError& error) { return error.step >= 0; });
  const ImRect bars = place_of(harness, "error of every tensor");
  std::vector<mark::Words> named;
  for (const mark::Words& words : words_on_screen(harness))
    if (bars.Contains(words.at) && words.text != "≠") named.push_back(words);
  EXPECT_GE(static_cast<std::ptrdiff_t>(named.size()), computed);
  EXPECT_TRUE(std::any_of(named.begin(), named.end(), [](const mark::Words& one) { return one.upwards; }));
  for (const char* symbol : {"H", "dH"}) {
    const auto at =
        std::find_if(named.begin(), named.end(), [&](const mark::Words& one) { return one.text == symbol; });
    ASSERT_NE(at, named.end()) << symbol;
    harness.perform([&](ImGuiTestContext& person) {
      person.MouseMoveToPos({at->at.x, bars.Max.y - 4});
      person.MouseClick(0);
    });
    const Program& program = shown_plan(harness.snapshot())->program;
    EXPECT_EQ(program.tensor(harness.view().selected_tensor).symbol, symbol);
  }
}

TEST(BreakStrip, ColumnsShowTheWorstOfTheirTensors) {
  const BreakProbe probe = probe_of({0, 0.5, 0, 0, 2, 0.3});
  const auto columns = strip_columns(probe, 3);
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns[0].worst, 1u);
  EXPECT_TRUE(columns[0].broken);
  EXPECT_FALSE(columns[0].ranks_differ);
  EXPECT_FALSE(columns[1].broken);
  EXPECT_EQ(columns[2].worst, 4u);
  EXPECT_TRUE(columns[2].ranks_differ);
  EXPECT_EQ(columns[2].end, probe.errors.size());
  EXPECT_EQ(strip_columns(probe, 100).size(), probe.errors.size());
}

TEST(BreakStrip, StretchesFollowTheLayersForwardAndBack) {
  Program program;
  const auto add = [&](int layer, Phase phase, Part part) {
    Step step;
    step.id = static_cast<StepId>(program.steps.size());
    step.layer = layer;
    step.phase = phase;
    step.part = part;
    program.steps.push_back(step);
  };
  add(-1, Phase::Forward, Part::Embedding);
  add(0, Phase::Forward, Part::Attention);
  add(0, Phase::Forward, Part::Mlp);
  add(1, Phase::Forward, Part::Mlp);
  add(1, Phase::Backward, Part::Mlp);
  const auto stretches = strip_stretches(program, probe_of({0, 0, 0, 0, 0}));
  std::vector<std::string> names;
  for (const StripStretch& stretch : stretches) names.push_back(stretch.name);
  EXPECT_EQ(names, (std::vector<std::string>{"embedding", "layer 0", "layer 1", "layer 1"}));
  EXPECT_EQ(stretches[1].end - stretches[1].first, 2u);
  EXPECT_EQ(stretches[3].phase, Phase::Backward);
}

}  // namespace break_it_test
}  // namespace shardlens::ui
