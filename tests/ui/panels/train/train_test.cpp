// A simulated user drives the Train tab: a started training learns, a frozen step is on the Stage, and the
// chosen settings are trained.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "engine/base/worker.h"
#include "engine/train/train_snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"
#include "ui/panels/train/replayed_training.h"
#include "ui/panels/train/train_choices.h"
#include "ui/panels/train/train_view.h"
#include "ui/widgets/tape.h"

namespace shardlens::ui {
namespace train_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kTimeoutSeconds = 120;

/// A model of one layer on 16 tokens, so that a step takes milliseconds.
void choose_small(TrainChoices& choices, int64_t steps) {
  choices.layers = 1;
  choices.batch = 2;
  choices.seq = 16;
  choices.steps = steps;
}

void open_train(StudioHarness& harness, int64_t steps) {
  harness.wait_until_at_rest();
  choose_small(harness.view().of<TrainView>().single, steps);
  choose_small(harness.view().of<TrainView>().compared, steps);
  harness.view().tab = Tab::Train;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
}

std::shared_ptr<const TrainSnapshot> wait_until_idle(StudioHarness& harness) {
  const auto last = harness.studio().training().wait_until_idle(kTimeoutSeconds);
  harness.draw_frames(4);
  return last;
}

/// Of what stands among the plots, in their own window.
ImGuiID plot_id(ImGuiTestContext& person, const std::string& item) {
  return person.GetID(item.c_str(), person.WindowInfo("//Train/plots").ID);
}

/// What the tab says, its wrapped lines in one.
std::string whole_text(StudioHarness& harness) {
  return fmt::format("{}", fmt::join(texts_in(harness, "Train"), " "));
}

std::chrono::steady_clock::time_point too_late() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(static_cast<int>(kTimeoutSeconds));
}

/// Draws frames until `is_so` of the newest training snapshot, as a window would meanwhile.
template <typename Condition>
void draw_until(StudioHarness& harness, const Condition& is_so) {
  const auto end = too_late();
  while (!is_so(*harness.studio().training().snapshot()) && std::chrono::steady_clock::now() < end) {
    harness.draw_frames(1);
    let_workers_go_on(0.016);
  }
}

bool has_steps(const TrainSnapshot& train) {
  return !train.curves.empty() && train.curves.front()->steps.size() > 2;
}

TEST(TrainTab, StartTrainsWhatIsChosen) {
  StudioHarness harness;
  open_train(harness, 12);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  ASSERT_EQ(last->curves.size(), 1u);
  EXPECT_EQ(last->curves.front()->steps.size(), 12u);
  EXPECT_EQ(last->curves.front()->plan->program.settings.model.layers, 1);
}

TEST(TrainTab, ItsFormIsTheOnlyPlaceForItsSettingsAndUndoActsOnIt) {
  StudioHarness harness;
  open_train(harness, 4);
  const Settings before = harness.snapshot().settings;
  EXPECT_FALSE(is_shown("Setup"));
  const std::vector<std::string> bar = texts_in(harness, "Bar");
  EXPECT_EQ(std::count(bar.begin(), bar.end(), "GPT-2 small"), 0)
      << "the model of the run is not that of Train";
  const TrainChoices first = harness.view().of<TrainView>().single;
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_2);  // T of the run, which is not in view
    person.Yield(2);
    person.ItemClick("//Train/**/T/choice");
    person.ItemClick("//$FOCUSED/4");
    person.Yield(2);
  });
  ASSERT_EQ(harness.view().of<TrainView>().single.tp, 4);
  const auto press = [&](ImGuiKeyChord key) {
    harness.perform([key](ImGuiTestContext& person) {
      person.KeyPress(key);
      person.Yield(2);
    });
    harness.wait_until_at_rest();
  };
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(harness.view().of<TrainView>().single, first);
  EXPECT_EQ(harness.view().told, "Undone: T = 2");
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(harness.snapshot().settings.tp, 2) << "the run keeps its own";
  press(ImGuiMod_Ctrl | ImGuiKey_Y);
  EXPECT_EQ(harness.view().of<TrainView>().single.tp, 4);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_2);
    person.Yield(2);
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Z);
  });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings, before) << "on the Stage the same key acts on the run";
}

TEST(TrainTab, ItsFormSaysWhereItIsNotWhatTheCurvesShow) {
  StudioHarness harness({1920, 1080});
  open_train(harness, 4);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  wait_until_idle(harness);
  EXPECT_THAT(whole_text(harness), Not(HasSubstr("next training")));
  harness.view().of<TrainView>().single.steps = 50;
  harness.draw_frames(2);
  EXPECT_THAT(
      whole_text(harness),
      HasSubstr("These choices are for the next training. The one shown has 4 steps, warm-up 4 steps."));
  harness.view().of<TrainView>().comparison = true;
  harness.draw_frames(2);
  EXPECT_THAT(whole_text(harness), HasSubstr("The one shown has one model."));
}

TEST(TrainTab, BeforeTheFirstTrainingItSaysWhatStartWouldDo) {
  StudioHarness harness;
  open_train(harness, 12);
  const std::vector<std::string> texts = texts_in(harness, "Train");
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "What Start would do"), 1);
  EXPECT_EQ(std::count_if(texts.begin(), texts.end(),
                          [](const std::string& text) { return text.starts_with("12 steps, "); }),
            1);
}

TEST(TrainTab, ALowPageIsScrolledFromTheLossToSpeedAndNorms) {
  StudioHarness harness({1280, 560});
  harness.view().lecture = true;
  open_train(harness, 4);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  wait_until_idle(harness);
  harness.view().of<TrainView>().page = TrainPage::Curves;
  harness.draw_frames(4);
  ImGuiWindow* const plots = window_with("/plots_");
  ASSERT_NE(plots, nullptr);
  EXPECT_EQ(plots->Scroll.y, 0);
  ASSERT_GT(plots->ScrollMax.y, 0);
  harness.perform([&](ImGuiTestContext& person) {
    person.MouseMoveToPos(plots->InnerClipRect.GetCenter());
    person.MouseWheelY(-20);
  });
  harness.draw_frames(4);
  EXPECT_EQ(plots->Scroll.y, plots->ScrollMax.y);
}

TEST(TrainTab, WhatBeginsIsNotBegunAnewByASecondClick) {
  StudioHarness harness;
  open_train(harness, 12);
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Train/train.start");
    bool waits = false;
    while (!waits && !has_steps(*harness.studio().training().snapshot())) {
      person.Yield();
      waits = (person.ItemInfo("//Train/train.start").ItemFlags & ImGuiItemFlags_Disabled) != 0;
    }
    EXPECT_TRUE(waits);
  });
  EXPECT_EQ(wait_until_idle(harness)->state, TrainState::Done);
}

TEST(TrainTab, AModelWritesWhileItLearnsAndWhatItIsAskedFor) {
  for (const PixelSize size : {PixelSize{1920, 1080}, PixelSize{1000, 700}}) {
    StudioHarness harness(size);
    open_train(harness, 20);
    harness.view().of<TrainView>().writing = {"In the", 12, 0.8, 10};
    harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
    ASSERT_EQ(wait_until_idle(harness)->curves.front()->texts.size(), 3u) << "after steps 0, 10 and 20";
    harness.perform([](ImGuiTestContext& person) {
      person.ItemClick("//Train/side/text");
      person.ItemClick("//Train/**/##prompt");
      person.KeyCharsReplaceEnter("And God said");
    });
    const auto asked = wait_until_idle(harness);
    ASSERT_EQ(asked->curves.front()->texts.size(), 4u) << asked->curves.front()->writing_problem;
    EXPECT_EQ(asked->curves.front()->texts.back()->prompt, "And God said");
    harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/**/train.write"); });
    EXPECT_EQ(wait_until_idle(harness)->curves.front()->texts.size(), 5u);
  }
}

TEST(TrainTab, OnlyAGptModelIsAskedToWrite) {
  StudioHarness harness;
  open_train(harness, 2);
  harness.view().of<TrainView>().single = with_model(harness.view().of<TrainView>().single, "bert-tiny");
  choose_small(harness.view().of<TrainView>().single, 2);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Train/side/text");
    const ImGuiTestItemInfo button = person.ItemInfo("//Train/**/train.write");
    IM_CHECK((button.ItemFlags & ImGuiItemFlags_Disabled) != 0);
  });
  EXPECT_EQ(last->curves.front()->texts.size(), 0u);
}

TEST(TrainTab, PauseHoldsTheRunAndGoesOn) {
  StudioHarness harness;
  open_train(harness, 100000);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  draw_until(harness, has_steps);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.pause"); });
  const auto paused = wait_until_idle(harness);
  ASSERT_EQ(paused->state, TrainState::Paused) << paused->message;
  const size_t steps = paused->curves.front()->steps.size();
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Shift | ImGuiKey_P); });
  draw_until(harness, [&](const TrainSnapshot& train) { return train.curves.front()->steps.size() > steps; });
  EXPECT_EQ(harness.studio().training().snapshot()->state, TrainState::Running);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.stop"); });
  EXPECT_EQ(wait_until_idle(harness)->state, TrainState::Stopped);
}

TEST(TrainTab, AFrozenStepIsOnTheStageAndGoingOnLetsItGo) {
  StudioHarness harness;
  open_train(harness, 100000);
  const Program before = harness.snapshot().plan->program;
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  draw_until(harness, has_steps);
  // In one script: where a script ends, the focus goes back to where it began.
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Shift | ImGuiKey_F);
    TrainingSession& training = harness.studio().training();
    const auto end = too_late();
    while (!training.snapshot()->frozen && std::chrono::steady_clock::now() < end) {
      person.Yield();
      let_workers_go_on(0.002);
    }
    const auto frozen = training.snapshot()->frozen;
    IM_CHECK(frozen != nullptr);
    person.Yield(4);
    EXPECT_EQ(harness.view().tab, Tab::Stage);
    EXPECT_EQ(&harness.snapshot(), frozen->shown.get()) << "every panel shows the frozen step";
    EXPECT_EQ(harness.snapshot().settings.block, Block::Model);
    EXPECT_GE(harness.view().selected_step, 0) << "and one of its steps is selected";
    person.KeyPress(ImGuiKey_RightArrow);
    EXPECT_EQ(&harness.snapshot(), frozen->shown.get()) << "walking stays inside it";
    person.ItemClick("//Stage/Go on");
  });
  draw_until(harness, [&](const TrainSnapshot& train) { return !train.frozen; });
  harness.draw_frames(3);
  EXPECT_EQ(harness.snapshot().plan->program, before) << "the plan of before is back";
}

TEST(TrainTab, ChangingThePlanLeavesTheFrozenStep) {
  StudioHarness harness;
  open_train(harness, 4);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  wait_until_idle(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.freeze"); });
  ASSERT_TRUE(wait_until_idle(harness)->frozen);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiKey_R); });
  draw_until(harness, [](const TrainSnapshot& train) { return !train.frozen; });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings, small_settings());
}

TEST(TrainTab, WhatLeavesTheFrozenStepSaysSo) {
  StudioHarness harness;
  open_train(harness, 4);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  wait_until_idle(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.freeze"); });
  ASSERT_TRUE(wait_until_idle(harness)->frozen);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_1);
    person.Yield(4);
    EXPECT_TRUE(person.ItemExists("//Message/Close"));
  });
}

TEST(TrainTab, UndoReachesThePlanBehindAFrozenStep) {
  StudioHarness harness;
  open_train(harness, 4);
  const auto degree_after = [&](ImGuiKeyChord key) {
    harness.perform([key](ImGuiTestContext& person) {
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_2);  // in Train the key acts on its form
      person.Yield(2);
      person.KeyPress(key);
    });
    harness.wait_until_at_rest();
    draw_until(harness, [](const TrainSnapshot& train) { return !train.frozen; });
    harness.draw_frames(3);
    return harness.snapshot().settings.tp;
  };
  EXPECT_EQ(degree_after(ImGuiKey_2), 2);
  harness.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_7);
    person.Yield(2);
    person.ItemClick("//Train/train.start");
  });
  wait_until_idle(harness);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Shift | ImGuiKey_F); });
  ASSERT_TRUE(wait_until_idle(harness)->frozen);
  EXPECT_EQ(degree_after(ImGuiMod_Ctrl | ImGuiKey_Z), small_settings().tp);
  EXPECT_EQ(degree_after(ImGuiMod_Ctrl | ImGuiKey_Y), 2);
  EXPECT_EQ(harness.snapshot().settings.block, Block::Layer) << "and not the training's";
}

TEST(TrainTab, WhatEachLayersGradientsWereIsReplayedAndAClickShowsItsStep) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("replayed_gradients_" + std::to_string(getpid()));
  {
    StudioHarness harness;
    harness.view().recordings = folder.string();
    open_train(harness, 8);
    harness.perform([](ImGuiTestContext& person) {
      person.ItemClick("//Bar/record");
      person.Yield(4);
      person.ItemClick("//Train/train.start");
    });
    ASSERT_EQ(wait_until_idle(harness)->state, TrainState::Done);
    harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_R); });
    harness.studio().training().wait_until_idle(kTimeoutSeconds);
    harness.draw_frames(4);
    ASSERT_EQ(harness.view().recent.size(), 1u);
    harness.studio().open_recording(harness.view().recent.front());
    const auto settle = [&] {
      harness.studio().replay().wait_until_idle(kTimeoutSeconds);
      harness.draw_frames(8);
    };
    settle();
    ASSERT_TRUE(harness.studio().replayed().is_open());
    EXPECT_EQ(harness.studio().replayed().pass, 0);
    // What was seen live: also the looks at the validation text, and what the text itself has.
    const TrainSnapshot& live = *harness.studio().training().snapshot();
    ASSERT_FALSE(live.curves.front()->validations.empty());
    const auto replayed = replayed_training(harness.studio().replayed());
    ASSERT_EQ(replayed->curves.front()->validations.size(), live.curves.front()->validations.size());
    EXPECT_EQ(replayed->curves.front()->validations.back().loss,
              live.curves.front()->validations.back().loss);
    EXPECT_EQ(replayed->text.unigram_entropy_nats, live.text.unigram_entropy_nats);
    const std::string name = harness.studio().replayed().recording->plan->program.settings.model.title;
    harness.perform([&](ImGuiTestContext& person) {
      const ImRect rows = person.ItemInfo(plot_id(person, name + "/gradient norms")).RectFull;
      ASSERT_GT(rows.GetWidth(), 100);
      person.MouseMoveToPos({rows.Min.x + 0.7f * rows.GetWidth(), rows.GetCenter().y});
      person.MouseClick();
    });
    settle();
    EXPECT_EQ(harness.studio().replayed().pass, 5) << "the sixth of eight";
  }
  std::filesystem::remove_all(folder);
}

TEST(TrainTab, AFrozenStepWaitsBehindARecording) {
  StudioHarness harness;
  open_train(harness, 4);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  wait_until_idle(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.freeze"); });
  ASSERT_TRUE(wait_until_idle(harness)->frozen);
  const auto shows_recording = [&](bool wanted) {
    harness.studio().replay().wait_until_idle(kTimeoutSeconds);
    harness.draw_frames(6);
    return harness.studio().replayed().is_open() == wanted;
  };
  const auto show = [&](Tab tab) {
    harness.view().tab = tab;
    harness.view().focus_tab = true;
    harness.draw_frames(4);
  };
  show(Tab::Memory);
  harness.studio().open_recording("gallery:late-rank");
  ASSERT_TRUE(shows_recording(true));
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_W); });
  ASSERT_TRUE(shows_recording(false));
  EXPECT_EQ(harness.view().tab, Tab::Memory) << "it was seen before";
  EXPECT_EQ(harness.snapshot().settings.block, Block::Model) << "and is shown again";
  // Who goes on to something else from the recording has left it.
  harness.studio().open_recording("gallery:late-rank");
  ASSERT_TRUE(shows_recording(true));
  open_start_page(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Start/start page").ID);
    person.ItemClick("look:reversed");
  });
  ASSERT_TRUE(shows_recording(false));
  draw_until(harness, [](const TrainSnapshot& train) { return !train.frozen; });
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.snapshot().settings.split.name, "reversed");
}

TEST(TrainTab, ATrainingWaitsForARecordingToBeClosedAndSaysSo) {
  StudioHarness harness;
  open_train(harness, 100000);
  TrainingSession& training = harness.studio().training();
  const auto press = [&](ImGuiKeyChord key) {
    harness.perform([key](ImGuiTestContext& person) { person.KeyPress(key); });
  };
  const auto look_at_a_recording = [&] {
    harness.studio().open_recording("gallery:late-rank");
    ASSERT_TRUE(harness.draw_until([&] { return harness.studio().replayed().is_open(); }));
    ASSERT_EQ(training.wait_until_idle(kTimeoutSeconds)->state, TrainState::Paused);
  };
  const auto close_it = [&] {
    press(ImGuiMod_Ctrl | ImGuiKey_W);
    ASSERT_TRUE(harness.draw_until([&] { return !harness.studio().replayed().is_open(); }));
  };
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  draw_until(harness, has_steps);
  look_at_a_recording();
  harness.perform([](ImGuiTestContext& person) { EXPECT_TRUE(person.ItemExists("//Message/Close")); });
  const size_t steps = training.snapshot()->curves.front()->steps.size();
  close_it();
  draw_until(harness, [&](const TrainSnapshot& train) { return train.curves.front()->steps.size() > steps; });
  EXPECT_EQ(training.snapshot()->state, TrainState::Running);
  // One that was held before stays held.
  press(ImGuiMod_Shift | ImGuiKey_P);
  ASSERT_EQ(wait_until_idle(harness)->state, TrainState::Paused);
  look_at_a_recording();
  close_it();
  EXPECT_EQ(wait_until_idle(harness)->state, TrainState::Paused);
}

TEST(TrainTab, TheComparisonTrainsBothPlacementsOfTheNorm) {
  StudioHarness harness;
  open_train(harness, 6);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Train/page/post-LN and pre-LN");
    person.ItemClick("//Train/train.start");
  });
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  ASSERT_EQ(last->curves.size(), 2u);
  EXPECT_EQ(last->curves[0]->plan->program.settings.model.norm, NormPlacement::Post);
  EXPECT_EQ(last->curves[1]->plan->program.settings.model.norm, NormPlacement::Pre);
  EXPECT_EQ(last->curves[0]->plan->program.settings.seed, last->curves[1]->plan->program.settings.seed);
}

TEST(TrainTab, AMissingTextIsSaid) {
  StudioHarness harness;
  open_train(harness, 6);
  harness.view().of<TrainView>().single.text = "/no/such/text.txt";
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  const auto last = wait_until_idle(harness);
  EXPECT_EQ(last->state, TrainState::Refused);
  EXPECT_THAT(last->message, HasSubstr("/no/such/text.txt"));
}

// Form and plots at both sizes: everything is there, whole, large enough to read, and beside one another.
TEST(TrainTab, EveryPlotIsWholeAndNothingOverlaps) {
  for (const PixelSize size : {PixelSize{840, 900}, PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
    for (const DType dtype : {DType::Fp32, DType::Fp16}) {
      StudioHarness harness(size);
      open_train(harness, 6);
      harness.view().of<TrainView>().single.dtype = dtype;
      const bool narrow = size.width < 1280;
      harness.perform([&](ImGuiTestContext& person) {
        const ImGuiTestItemInfo form = person.WindowInfo("//Train/form");
        ASSERT_NE(form.Window, nullptr);
        EXPECT_EQ(form.Window->ScrollMax.y, 0) << "the form needs no scrolling at " << size.width;
        person.ItemClick("//Train/train.start");
      });
      ASSERT_EQ(wait_until_idle(harness)->state, TrainState::Done);
      harness.perform([&](ImGuiTestContext& person) {
        const auto on_page = [&](const std::string& item) { return plot_id(person, item); };
        const std::string norms = training_of(harness.view().of<TrainView>().single).models[0].name;
        std::vector<std::pair<std::string, ImGuiID>> items{
            {"loss", on_page("##loss")},
            {"speed", on_page("##speed")},
            {"norms", on_page(norms + "/gradient norms")},
            {"train.start", person.GetID("//Train/train.start")},
            {"train.freeze", person.GetID("//Train/train.freeze")}};
        if (dtype == DType::Fp16) items.emplace_back("scale", on_page("##scale"));
        const ImRect window = person.WindowInfo("//Train").RectFull;
        std::vector<ImRect> places;
        for (const auto& [item, id] : items) {
          const ImGuiTestItemInfo info = person.ItemInfo(id);
          ASSERT_NE(info.ID, 0u) << item;
          const ImRect place = info.RectFull;
          EXPECT_TRUE(window.Contains(place)) << item << " is cut at " << size.width;
          for (size_t i = 0; i < places.size(); ++i)
            EXPECT_FALSE(place.Overlaps(places[i])) << item << " lies on " << items[i].first;
          places.push_back(place);
          if (item.find("train.") != std::string::npos) continue;
          EXPECT_GE(place.GetWidth(), 190) << item;
          EXPECT_GE(place.GetHeight(), 90) << item;
        }
        EXPECT_EQ(person.ItemExists(on_page("##scale")), dtype == DType::Fp16);
        if (!narrow) return;
        person.ItemClick("//Train/side/choices");
        person.Yield(4);
        EXPECT_NE(person.WindowInfo("//Train/form").Window, nullptr);
        EXPECT_FALSE(person.ItemExists(items.front().second)) << "the form has taken the curves' place";
        person.ItemClick("//Train/side/curves");
      });
    }
  }
}

TEST(TrainTab, MeansAndPeaksOfSeveralStepsSaySo) {
  for (const PixelSize size : {PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
    StudioHarness harness(size);
    open_train(harness, 140);
    harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
    ASSERT_EQ(wait_until_idle(harness)->state, TrainState::Done);
    Tape tape;
    ImGui::GetIO().UserData = &tape;
    harness.draw_frames(1);
    ImGui::GetIO().UserData = nullptr;
    std::vector<std::string> shown;
    for (const TapeMark& one : tape.marks())
      if (const auto* words = std::get_if<mark::Words>(&one.what)) shown.push_back(words->text);
    EXPECT_THAT(shown, Contains(StartsWith("training, mean of 7 steps "))) << size.width;
    EXPECT_THAT(shown, Contains(AllOf(HasSubstr("tokens/s"), EndsWith(", mean of 7 steps")))) << size.width;
    if (size.width < 1920) continue;
    EXPECT_THAT(shown, Contains(HasSubstr("largest of 2")));
  }
}

TEST(TrainTab, TheDtypeIsChosenInTheForm) {
  StudioHarness harness;
  open_train(harness, 6);
  harness.perform([](ImGuiTestContext& person) {
    person.SetRef(person.WindowInfo("//Train/form").ID);
    person.ItemClick("**/dtype/choice");
    person.ItemClick("//$FOCUSED/fp16");
  });
  EXPECT_EQ(harness.view().of<TrainView>().single.dtype, DType::Fp16);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Train/train.start"); });
  const auto last = wait_until_idle(harness);
  ASSERT_EQ(last->state, TrainState::Done) << last->message;
  EXPECT_EQ(last->curves.front()->plan->program.settings.dtype, DType::Fp16);
  EXPECT_EQ(last->curves.front()->steps.front()->report.loss_scale, LossScaler::kFirstScale);
}

TEST(TrainTab, EverySizeThemeAndScaleIsDrawn) {
  for (const PixelSize size : {PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
    StudioHarness harness(size);
    open_train(harness, 4);
    harness.studio().training().send(harness.view().of<TrainView>().wish());
    wait_until_idle(harness);
    for (const bool lecture : {false, true}) {
      harness.view().set_lecture(lecture);
      harness.view().theme = lecture ? ThemeName::Light : ThemeName::Dark;
      harness.draw_frames(6);
      harness.perform([](ImGuiTestContext& person) {
        EXPECT_TRUE(person.ItemExists("//Train/train.start"));
        EXPECT_TRUE(person.ItemExists("//Train/train.freeze"));
      });
    }
  }
}

}  // namespace train_test
}  // namespace shardlens::ui
