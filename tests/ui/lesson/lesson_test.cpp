// A person takes a lesson, alone and in front of a class, with clicks and keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <algorithm>
#include <fstream>

#include "engine/config/splits.h"
#include "engine/io/temporary_folder.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "engine/train/experiments/diff_session.h"
#include "engine/train/train_snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/collective/collective_view.h"
#include "ui/frame/side_panels.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/train/train_view.h"
#include "ui/product/product_view.h"
#include "ui/stage/stage_light.h"

namespace shardlens::ui {
namespace lesson_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kTimeoutSeconds = 500;

const char* const kLesson = R"lesson(+++
title = "A small lesson"
asks = "Where do the ranks meet?"
minutes = 3
[run]
hidden = 96
heads = 12
block = "mlp"
tp = 4
batch = 1
seq = 16
+++

## The only meeting

{{ranks}} ranks hold {{local_shape("mlp.fc.weight")}} of `mlp.fc`.

```scene
select = "mlp.proj"
spotlight = ["mlp.proj"]
callouts = [{ at = "mlp.proj", text = "a share of the sum, {{shape('mlp.proj.sum')}}" }]
```

```notes
Ask for the hands first.
```

```question
ask = "How often do the ranks meet, forward?"
choices = ["1", "2", "5"]
answer = "collectives(forward)"
because = "explain(collective(1))"
```

```question
ask = "How many columns does a rank hold?"
kind = "number"
answer = "local_shape('mlp.fc.out', 1)"
hints = [{ at = "shape('mlp.fc.out', 1)", text = "All ranks hold {{shape('mlp.fc.out', 1)}} together." }]
because = "{{local_shape('mlp.fc.out')}} of {{shape('mlp.fc.out')}}"
```

## Point and order

Look at the sum.

```scene
page = "number"
select = "mlp.proj"
number = { row = 3, column = 5 }
```

```question
ask = "Which step bends?"
at = "step"
answer = "output('mlp.gelu')"
because = "{{equation('mlp.gelu')}}"
```

```question
ask = "In which order?"
items = ["mlp.fc", "mlp.gelu", "mlp.proj"]
answer = "in_order('mlp.gelu', 'mlp.fc', 'mlp.proj')"
because = "{{equation('mlp.fc')}}"
```

## Your own cut

More of them.

```scene
run = { tp = 2 }
panels = ["setup"]
```

```question
ask = "Cut so that nobody meets forward."
kind = "cut"
answer = "collectives(forward) == 0"
because = "{{layout('mlp.fc.weight')}}"
```

## Broken

Without f.

```scene
view = "break-it"
page = "errors"
mistake = "skip-f"
```

```question
ask = "Click the first wrong tensor."
at = "tensor"
answer = "first_wrong()"
because = "{{first_wrong()}}"
```
)lesson";

const char* const kTraining = R"(
## Both

Loss {{loss(4)}}.

```scene
view = "train"
page = "curves"
train = "norms"
training_steps = 4
run = { model = "gpt2-tiny", block = "model", layers = 2, hidden = 48, heads = 4, tp = 2, batch = 2, seq = 16 }
```
)";

class Lessons : public ::testing::Test {
 protected:
  Lessons() : path_(folder_.path() + "/small.md") { std::ofstream(path_) << kLesson; }

  LessonView& lesson() { return harness_.view().of<LessonView>(); }
  LessonSession& session() { return harness_.studio().lesson(); }
  bool settle() {
    harness_.draw_frames(2);  // what was pressed is on its way
    session().wait_until_idle(kTimeoutSeconds);
    harness_.draw_frames(2);  // what came is seen: until then all is settled as before
    const bool settled = harness_.draw_until([&] { return harness_.studio().lesson_is_settled(); });
    session().wait_until_idle(kTimeoutSeconds);  // the next scene is made
    harness_.draw_frames(2);
    return settled;
  }
  void open(int scene = 0) {
    harness_.wait_until_at_rest();
    harness_.studio().open_lesson(path_, scene);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(lesson().open) << session().snapshot()->message;
  }
  /// A lesson of these scenes.
  void open_scenes(const std::string& scenes) {
    const std::string text = kLesson;
    std::ofstream(path_) << text.substr(0, text.find("\n## ")) << scenes;
    open();
  }
  void press(ImGuiKeyChord key) {
    harness_.perform([&](ImGuiTestContext& person) { person.KeyPress(key); });
    ASSERT_TRUE(settle());
  }
  void click(const char* item) {
    harness_.perform([&](ImGuiTestContext& person) { person.ItemClick(item); });
    ASSERT_TRUE(settle());
  }
  std::vector<std::string> card() { return texts_in(harness_, "Lesson"); }
  std::string card_text() {
    std::string all;
    for (const std::string& words : card()) all += words + " ";
    return all;
  }
  /// What the notes' window draws; nothing where there is none.
  std::vector<std::string> words_in_second_window() {
    Tape tape;
    ImGui::GetIO().UserData = &tape;
    harness_.studio().draw_notes_window(harness_.platform());
    ImGui::GetIO().UserData = nullptr;
    std::vector<std::string> found;
    for (const TapeMark& one : tape.marks())
      if (const auto* words = std::get_if<mark::Words>(&one.what)) found.push_back(words->text);
    return found;
  }
  static std::string join(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& one : words) all += one + " ";
    return all;
  }
  const Program& program() { return harness_.snapshot().plan->program; }
  StepId step(const char* name) {
    for (const Step& one : program().steps)
      if (one.name == name) return one.id;
    return -1;
  }

  TemporaryFolder folder_;
  std::string path_;
  StudioHarness harness_;
};

TEST_F(Lessons, ASceneIsShown) {
  open();
  EXPECT_EQ(harness_.snapshot().settings.block, Block::Mlp);
  EXPECT_EQ(harness_.view().selected_step, step("mlp.proj"));
  const auto& light = harness_.view().of<StageLight>();
  EXPECT_THAT(light.lit, Contains("mlp.proj"));
  ASSERT_EQ(light.callouts.size(), 1u);
  EXPECT_EQ(light.callouts[0].text, "a share of the sum, [16, 96]");
  EXPECT_THAT(card_text(), HasSubstr("4 ranks hold [96, 96] of mlp.fc ."));
  EXPECT_THAT(card(), Contains("How often do the ranks meet, forward?"));
  EXPECT_FALSE(side_panels(harness_.view()).inspector) << "a lesson has the page to itself";
}

TEST_F(Lessons, AWrongAnswerIsShownAndARightOneExplained) {
  open();
  click("//Lesson/**/choice 1.2");
  EXPECT_THAT(card_text(), HasSubstr("\"2\" is not right. It would be with Wfc cut by rows"));
  EXPECT_EQ(harness_.snapshot().settings.split, named_split("megatron")) << "the page stays the scene's";
  click("//Lesson/**/show it 1");
  EXPECT_NE(harness_.snapshot().settings.split, named_split("megatron"));
  click("//Lesson/lesson again");
  EXPECT_EQ(harness_.snapshot().settings.split, named_split("megatron"));
  click("//Lesson/**/choice 1.3");
  EXPECT_THAT(card_text(), HasSubstr("\"5\" is not right. Try again"));
  EXPECT_THAT(card_text(), Not(HasSubstr("Right:")));
  click("//Lesson/**/choice 1.1");
  EXPECT_THAT(card(), Contains("Right: 1"));
  EXPECT_EQ(lesson().progress[path_].right.size(), 1u);
  harness_.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Lesson/**/##number 2");
    person.KeyCharsReplaceEnter("96");
  });
  ASSERT_TRUE(settle());
  for (int scene = 0; scene < 4; ++scene) press(ImGuiKey_PageDown);
  EXPECT_THAT(card_text(), HasSubstr("2 of 6 questions right, 1 of them at the first try."));
}

TEST_F(Lessons, ANumberIsTyped) {
  open();
  harness_.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Lesson/**/##number 2");
    person.KeyCharsReplaceEnter("12");
  });
  ASSERT_TRUE(settle());
  EXPECT_THAT(card_text(), HasSubstr("\"12\" is not right."));
  harness_.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Lesson/**/##number 2");
    person.KeyCharsReplaceEnter("384");
  });
  ASSERT_TRUE(settle());
  EXPECT_THAT(card_text(), HasSubstr("\"384\" is not right. All ranks hold 384 together."));
  harness_.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Lesson/**/##number 2");
    person.KeyCharsReplaceEnter("96 KiB");
  });
  ASSERT_TRUE(settle());
  EXPECT_THAT(card_text(),
              HasSubstr("Not answered: \"96 KiB\" has the unit \"kib\": write the number alone."));
  harness_.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Lesson/**/##number 2");
    person.KeyCharsReplace("96");
    person.ItemClick("//Lesson/**/answer 2");
  });
  ASSERT_TRUE(settle());
  EXPECT_THAT(card(), Contains("Right: 96"));
}

TEST_F(Lessons, AfterAWrongNumberTheNextDigitsAreTheNextTry) {
  open();
  const int tp = harness_.snapshot().settings.tp;
  harness_.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Lesson/**/##number 2");
    person.KeyCharsReplaceEnter("12");
  });
  ASSERT_TRUE(settle());
  EXPECT_THAT(card_text(), HasSubstr("\"12\" is not right."));
  harness_.perform([](ImGuiTestContext& person) { person.KeyCharsReplaceEnter("96"); });
  ASSERT_TRUE(settle());
  EXPECT_THAT(card(), Contains("Right: 96"));
  EXPECT_EQ(harness_.snapshot().settings.tp, tp);
}

TEST_F(Lessons, DigitsGoToTheNumberThatIsAsked) {
  open();
  const int tp = harness_.snapshot().settings.tp;
  harness_.perform([](ImGuiTestContext& person) {
    for (const ImGuiKey digit : {ImGuiKey_9, ImGuiKey_6}) {
      person.KeyPress(digit);
      person.KeyChars(digit == ImGuiKey_9 ? "9" : "6");
    }
    person.KeyPress(ImGuiKey_Enter);
  });
  ASSERT_TRUE(settle());
  EXPECT_THAT(card(), Contains("Right: 96"));
  EXPECT_EQ(harness_.snapshot().settings.tp, tp);
  press(ImGuiKey_2);
  EXPECT_EQ(harness_.snapshot().settings.tp, tp) << "a digit too many";
  press(ImGuiKey_PageDown);
  press(ImGuiKey_2);
  EXPECT_EQ(harness_.snapshot().settings.tp, 2) << "this scene asks for no number";
}

TEST_F(Lessons, ChoicesStandStillUnderAWrongAnswer) {
  open();
  const auto place = [&](const char* choice) {
    ImVec2 at;
    harness_.perform([&](ImGuiTestContext& person) { at = person.ItemInfo(choice).RectFull.Min; });
    return at.y;
  };
  for (const char* const choice : {"//Lesson/**/choice 1.2", "//Lesson/**/choice 1.3"}) {
    const float before = place(choice);
    click(choice);
    EXPECT_THAT(card_text(), HasSubstr("is not right."));
    EXPECT_EQ(place(choice), before);
  }
}

// What is on its way says so: the page does not show the scene before as if it were this one, and an answer
// that cannot be marked yet gets a reply.
TEST_F(Lessons, WhatIsOnItsWayIsAnnounced) {
  open();
  const std::string text = kLesson;
  const auto scene = [](const std::string& title, const std::string& run) {
    return "\n## " + title + "\n\nText.\n\n```scene\nrun = { " + run + " }\n```\n";
  };
  std::ofstream(path_)
      << text.substr(0, text.find("\n## "))
      << scene("Slow", R"(model = "gpt2", block = "layer", hidden = 768, tp = 2, batch = 4, seq = 256)")
      << scene(
             "Trained",
             R"(model = "gpt2-tiny", block = "model", layers = 4, tp = 2, hidden = 128, heads = 4, batch = 4, seq = 64)")
      << "\n```question\nask = \"What is the loss then?\"\nkind = \"number\"\nanswer = \"loss(40)\"\n"
         "because = \"{{loss(40)}}\"\n```\n";
  harness_.studio().open_lesson(path_, 0);
  const auto is_said = [&](const char* words) {
    int frames = 0;
    bool found = false;
    harness_.draw_until([&] {
      for (const mark::Words& one : words_on_screen(harness_))
        found = found || one.text.find(words) != std::string::npos;
      return found || ++frames > 2000;
    });
    return found;
  };
  const char* const kOnItsWay = "This scene is on its way";
  EXPECT_TRUE(is_said(kOnItsWay)) << ::testing::PrintToString(texts_in(harness_, "Lesson"))
                                  << session().snapshot()->message;
  ASSERT_TRUE(settle());
  EXPECT_THAT(join(texts_in(harness_, "Stage")), Not(HasSubstr(kOnItsWay)));
  press(ImGuiKey_PageDown);
  harness_.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Lesson/**/##number 1");
    person.KeyCharsReplaceEnter("12");
  });
  EXPECT_TRUE(is_said("The answer comes when"));
  ASSERT_TRUE(settle());
  EXPECT_THAT(card_text(), HasSubstr("\"12\" is not right."));
}

// A lesson that cannot be opened drops what waited before it.
TEST_F(Lessons, WhatWasDroppedDoesNotWait) {
  open();
  lesson().questions["the-only-meeting/1"].sent = 1;
  harness_.draw_frames(60);
  EXPECT_THAT(card_text(), Not(HasSubstr("The answer comes")));
}

TEST_F(Lessons, WhoChangesASceneOnItsWayHasLeftIt) {
  open();
  harness_.perform([](ImGuiTestContext& person) {
    person.KeyPress(ImGuiKey_PageDown);
    person.KeyPress(ImGuiKey_3);
  });
  EXPECT_TRUE(harness_.draw_until([&] { return lesson().away; }));
  EXPECT_EQ(harness_.snapshot().settings.tp, 3);
}

TEST_F(Lessons, UndoTakesBackWhatAPersonChangedAndNotTheScene) {
  open();
  press(ImGuiKey_PageDown);
  press(ImGuiKey_PageDown);
  ASSERT_TRUE(settle());
  ASSERT_EQ(harness_.snapshot().settings.tp, 2);
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  ASSERT_TRUE(settle());
  EXPECT_EQ(harness_.snapshot().settings.tp, 2) << "the scene's own degree";
  EXPECT_FALSE(lesson().away);
  press(ImGuiKey_3);
  ASSERT_TRUE(settle());
  ASSERT_EQ(harness_.snapshot().settings.tp, 3);
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  ASSERT_TRUE(settle());
  EXPECT_EQ(harness_.snapshot().settings.tp, 2);
}

TEST_F(Lessons, AnAnswerThatIsAskedForIsShown) {
  open();
  click("//Lesson/**/choice 1.3");
  click("//Lesson/**/reveal 1");
  EXPECT_THAT(card(), Contains("1"));
  EXPECT_TRUE(session().snapshot()->answers.contains("the-only-meeting/1"));
  EXPECT_TRUE(lesson().progress[path_].right.empty()) << "it was shown, not known";
}

TEST_F(Lessons, StepsArePointedAtAndPutInOrder) {
  open();
  press(ImGuiKey_PageDown);
  EXPECT_EQ(lesson().scene, 1);
  EXPECT_TRUE(harness_.view().of<ProductView>().number);
  EXPECT_EQ(harness_.view().of<ProductView>().row, 3);
  EXPECT_EQ(harness_.view().of<ProductView>().col, 5);
  EXPECT_THAT(card(), Contains("Click a step on the page.")) << "what the scene selects is no answer";
  press(ImGuiKey_Escape);  // from the number to the matrices
  press(ImGuiKey_Escape);  // to the Stage
  const std::string row = "//Stage/**/##stage_step_" + std::to_string(step("mlp.gelu")) + "_rank_1";
  click(row.c_str());
  EXPECT_THAT(card(), Contains("Selected: G = GeLU(H) (mlp.gelu)"));
  click("//Lesson/**/answer 1");
  EXPECT_THAT(card_text(), HasSubstr("Right: "));
  const std::vector<std::string> items = session().snapshot()->scenes[1].shown->questions[1].items;
  EXPECT_NE(items, (std::vector<std::string>{"mlp.fc", "mlp.gelu", "mlp.proj"})) << "that would be right";
  const auto click_items = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto place = std::find(items.begin(), items.end(), name) - items.begin() + 1;
      click(("//Lesson/**/item 2." + std::to_string(place)).c_str());
    }
  };
  click_items({"mlp.fc", "mlp.proj", "mlp.gelu"});
  click("//Lesson/**/answer 2");
  EXPECT_FALSE(session().snapshot()->marked.at("point-and-order/2").right);
  click_items({"mlp.proj", "mlp.gelu"});  // taken out
  click_items({"mlp.gelu", "mlp.proj"});
  click("//Lesson/**/answer 2");
  EXPECT_TRUE(session().snapshot()->marked.at("point-and-order/2").right);
}

TEST_F(Lessons, ACutIsMadeInSetup) {
  open(2);
  EXPECT_EQ(harness_.snapshot().settings.tp, 2);
  EXPECT_TRUE(side_panels(harness_.view()).setup);
  const std::vector<std::string> setup = texts_in(harness_, "Setup");
  const auto place = [&](const char* words) { return std::find(setup.begin(), setup.end(), words); };
  ASSERT_NE(place("mlp.fc"), setup.end());
  EXPECT_LT(place("mlp.fc"), place("T")) << "what is asked for comes first";
  click("//Lesson/**/answer 1");
  ASSERT_TRUE(session().snapshot()->marked.contains("your-own-cut/1")) << session().snapshot()->message;
  EXPECT_FALSE(session().snapshot()->marked.at("your-own-cut/1").right);
  Settings settings = harness_.snapshot().settings;
  settings.split = named_split("replicated");
  harness_.studio().session().send(command::SetSettings{settings});
  ASSERT_TRUE(harness_.draw_until([&] { return harness_.snapshot().settings == settings; }));
  EXPECT_FALSE(lesson().away) << "another cut is what the scene asks for";
  click("//Lesson/**/answer 1");
  EXPECT_TRUE(session().snapshot()->marked.at("your-own-cut/1").right)
      << session().snapshot()->marked.at("your-own-cut/1").message;
}

TEST_F(Lessons, AMistakeIsPlantedAndTakenBack) {
  open(3);
  ASSERT_TRUE(harness_.studio().breaks().snapshot()->planted.has_value());
  EXPECT_EQ(harness_.view().tab, Tab::BreakIt);
  press(ImGuiKey_PageUp);
  EXPECT_FALSE(harness_.studio().breaks().snapshot()->planted.has_value());
  EXPECT_EQ(harness_.view().tab, Tab::Stage);
  EXPECT_EQ(harness_.snapshot().settings.tp, 2);
}

TEST_F(Lessons, WhatAMistakesSceneAsksIsNotSaidBefore) {
  open(3);
  const auto page = [&] { return join(texts_in(harness_, "Break it")); };
  EXPECT_THAT(page(), AllOf(HasSubstr("The lesson asks where it starts."), Not(HasSubstr("starts at")),
                            Not(ContainsRegex("[0-9] of [0-9]+ wrong")), Not(HasSubstr("finds it first"))));
  const TensorId before = harness_.view().selected_tensor;  // not the tensor that is asked for
  harness_.studio().lesson().send(lesson_command::Reveal{"broken/1"});
  ASSERT_TRUE(settle());
  EXPECT_THAT(page(), AllOf(HasSubstr("starts at"), ContainsRegex("[0-9] of [0-9]+ wrong")));
  EXPECT_NE(harness_.view().selected_tensor, before) << "and now it is";
}

TEST_F(Lessons, ARevealedStepIsSelectedAndARevealedCutIsRun) {
  open(1);
  harness_.studio().lesson().send(lesson_command::Reveal{"point-and-order/1"});
  lesson().shown_for = "point-and-order/1";
  ASSERT_TRUE(settle());
  EXPECT_EQ(harness_.view().selected_step, step("mlp.gelu"));
  press(ImGuiKey_PageDown);
  ASSERT_EQ(lesson().scene, 2);
  const Split before = harness_.snapshot().settings.split;
  harness_.studio().lesson().send(lesson_command::Reveal{"your-own-cut/1"});
  lesson().shown_for = "your-own-cut/1";
  ASSERT_TRUE(settle());
  EXPECT_NE(harness_.snapshot().settings.split, before);
  for (const Step& one : program().steps)
    EXPECT_FALSE(is_collective(one.op) && one.phase == Phase::Forward) << one.name;
}

TEST_F(Lessons, AClassIsAskedAndCounted) {
  open();
  press(ImGuiKey_F11);
  ASSERT_TRUE(is_class(harness_.view()));
  EXPECT_THAT(texts_in(harness_, "Bar"), Contains("A small lesson"));
  EXPECT_THAT(card(), Not(Contains("How many columns does a rank hold?"))) << "one question at a time";
  for (const ImGuiKey key : {ImGuiKey_A, ImGuiKey_A, ImGuiKey_B, ImGuiKey_C, ImGuiKey_D}) press(key);
  press(ImGuiKey_Backspace);
  EXPECT_EQ(lesson().questions["the-only-meeting/1"].hands, (std::vector<int>{0, 0, 1}))
      << "there is no fourth answer";
  EXPECT_THAT(card(), Contains("3 hands"));
  EXPECT_THAT(card(), AllOf(Contains("A"), Contains("C"), Not(Contains("3"))))
      << "the answer 2 must not have the key 3";
  EXPECT_FALSE(session().snapshot()->answers.contains("the-only-meeting/1"));
  press(ImGuiKey_Enter);
  EXPECT_TRUE(session().snapshot()->answers.contains("the-only-meeting/1"));
  press(ImGuiKey_C);
  EXPECT_FALSE(harness_.view().of<CollectiveView>().open) << "a late hand opens nothing";
  EXPECT_EQ(lesson().questions["the-only-meeting/1"].hands.size(), 3u);
  press(ImGuiKey_PageDown);
  EXPECT_EQ(lesson().scene, 0);
  EXPECT_THAT(card(), Contains("How many columns does a rank hold?"));
  press(ImGuiKey_PageDown);
  EXPECT_EQ(lesson().scene, 1);
  press(ImGuiKey_PageUp);
  EXPECT_EQ(lesson().scene, 0);
}

// The type of a class's card stays readable: a long answer takes the room of the text that the class has
// read.
TEST_F(Lessons, AnAnswerThatNeedsTheRoomTakesTheTexts) {
  const auto scene = [](int sentences) {
    std::string because;
    for (int i = 0; i < sentences; ++i) because += "It is {{ranks}} ranks that hold it. ";
    return "\n## A\n\nThe text of the scene.\n\n```scene\nselect = \"mlp.proj\"\n```\n\n```question\n"
           "ask = \"How many?\"\nkind = \"number\"\nanswer = \"local_shape('mlp.fc.out', 1)\"\nbecause = \"" +
           because + "\"\n```\n";
  };
  for (const int sentences : {1, 150}) {
    open_scenes(scene(sentences));
    press(ImGuiKey_F11);
    EXPECT_THAT(card_text(), HasSubstr("The text of the scene.")) << sentences;
    press(ImGuiKey_Enter);
    harness_.draw_frames(4);
    EXPECT_EQ(lesson().folded, sentences > 1);
    EXPECT_EQ(card_text().find("The text of the scene.") == std::string::npos, sentences > 1);
    EXPECT_THAT(card_text(), HasSubstr("96"));
    press(ImGuiKey_F11);
    EXPECT_FALSE(lesson().folded) << "a reader has it back";
  }
}

// Traffic is a table for a reader, and a bar for each collective for a class.
TEST_F(Lessons, AClassSeesABarForEachCollective) {
  open_scenes("\n## A\n\nWords.\n\n```scene\nview = \"traffic\"\nrun = { split = \"reversed\" }\n```\n");
  EXPECT_THAT(join(texts_in(harness_, "Traffic")),
              AllOf(HasSubstr("local slice"), HasSubstr("all-gather Y")));
  press(ImGuiKey_F11);
  const std::string shown = join(texts_in(harness_, "Traffic"));
  EXPECT_THAT(shown, AllOf(HasSubstr("all-reduce H'"), HasSubstr("all-gather Y"), HasSubstr("all-gather dX"),
                           HasSubstr("more steps change layouts and send nothing")));
  EXPECT_THAT(shown, AllOf(Not(HasSubstr("local slice")), Not(HasSubstr("communicator"))));
}

// In front of a class a comparison of splits is the scene's, and stands above the list.
TEST_F(Lessons, AClassSeesTheSplitsThatTheSceneCompares) {
  const std::string scene =
      "\n## A\n\nWords.\n\n```scene\nview = \"traffic\"\nrun = { split = \"reversed\" }\n";
  open_scenes(scene + "```\n");
  EXPECT_THAT(texts_in(harness_, "Traffic"), Contains("row-row")) << "a reader sees all";
  press(ImGuiKey_F11);
  EXPECT_THAT(texts_in(harness_, "Traffic"), Not(Contains("megatron")));
  press(ImGuiKey_F11);
  open_scenes(scene + "compare = { splits = [\"megatron\", \"reversed\"] }\n```\n");
  press(ImGuiKey_F11);
  EXPECT_THAT(texts_in(harness_, "Traffic"),
              AllOf(Contains("megatron"), Contains("reversed"), Not(Contains("row-row"))));
}

// A class cannot scroll: a rank's bytes stand beside the bars, all of them above the edge.
TEST_F(Lessons, AClassSeesARanksBytesBesideTheBars) {
  harness_.platform().resize({1280, 720});
  open_scenes("\n## A\n\nWords.\n\n```scene\nview = \"memory\"\npage = \"layer\"\n```\n");
  EXPECT_THAT(texts_in(harness_, "Memory"), Contains("key-value cache"));
  press(ImGuiKey_F11);
  const ImGuiWindow* const page = window_with("Memory");
  EXPECT_THAT(texts_in(harness_, "Memory"),
              AllOf(Contains("activations"), Contains("total"), Not(Contains("key-value cache"))));
  for (const mark::Words& words : words_on_screen(harness_))
    EXPECT_LE(words.at.y + words.style.size, page->Pos.y + page->Size.y) << words.text;
}

// A lesson speaks of the 16 bytes that a text counts; what a plan here keeps is another figure.
TEST_F(Lessons, TheWallOfASceneHasOneFigureForAParameter) {
  open_scenes("\n## A\n\nWords.\n\n```scene\nview = \"memory\"\npage = \"wall\"\n```\n");
  EXPECT_THAT(join(texts_in(harness_, "Memory")),
              AllOf(HasSubstr("16 bytes per parameter"), Not(HasSubstr("has 18"))));
  click("//Lesson/close lesson");
  EXPECT_THAT(join(texts_in(harness_, "Memory")), HasSubstr("has 18"));
}

// Setup has what a class is asked for, so that the Stage keeps the room.
TEST_F(Lessons, AClassThatCutsSeesTheCutsAlone) {
  open(2);
  EXPECT_THAT(texts_in(harness_, "Setup"), AllOf(Contains("attn.qkv"), Contains("Hidden")));
  harness_.platform().resize({1280, 720});
  press(ImGuiKey_F11);
  press(ImGuiKey_PageUp);
  press(ImGuiKey_PageDown);  // a scene brings its panels
  while (lesson().scene < 2) press(ImGuiKey_PageDown);
  EXPECT_THAT(texts_in(harness_, "Setup"), AllOf(Contains("mlp.fc"), Contains("mlp.proj"),
                                                 Not(Contains("attn.qkv")), Not(Contains("Hidden"))));
  const auto width = [](const char* name) { return ImGui::FindWindowByName(name)->Size.x; };
  EXPECT_LT(width("Setup"), 0.45f * width("Stage"));
}

// The bars are asked about; two rows of a Stage below them would take their room.
TEST_F(Lessons, AClassSeesTheErrorsAlone) {
  open(3);
  EXPECT_THAT(texts_in(harness_, "Break it"), Contains("the broken run"));
  press(ImGuiKey_F11);
  EXPECT_THAT(texts_in(harness_, "Break it"), Not(Contains("the broken run")));
}

// What else the page of a number shows is for who asks for it.
TEST_F(Lessons, ASceneAboutANumberShowsTheNumberAlone) {
  open(1);
  EXPECT_THAT(texts_in(harness_, "Stage"), Contains("the number")) << "a choice leads to the other panel";
  click("//Lesson/close lesson");
  EXPECT_TRUE(harness_.view().of<ProductView>().number);
  EXPECT_THAT(texts_in(harness_, "Stage"), Not(Contains("the number"))) << "both are there";
}

// No rank need hold what a broken program takes a tensor for.
TEST_F(Lessons, AMistakesMatricesDoNotSayWhatARankHolds) {
  const std::string scene = "\n## A\n\nWords.\n\n```scene\npage = \"product\"\nselect = \"mlp.fc\"\n";
  open_scenes(scene + "```\n");
  EXPECT_THAT(join(texts_in(harness_, "Stage")), HasSubstr("Each rank holds"));
  open_scenes(scene + "mistake = \"skip-f\"\n```\n");
  EXPECT_THAT(join(texts_in(harness_, "Stage")),
              AllOf(HasSubstr("So the broken program reads it"), Not(HasSubstr("Each rank holds"))));
}

TEST_F(Lessons, AClassSeesEightRanksInEightLanesAndTheLossAsBars) {
  harness_.platform().resize({1280, 720});
  open_scenes(
      "\n## A\n\nWords.\n\n```scene\nrun = { tp = 8, heads_policy = \"uneven\", block = \"attention\" "
      "}\n```\n"
      "\n## B\n\nWords.\n\n```scene\nview = \"traffic\"\nrun = { model = \"gpt2-tiny\", block = "
      "\"model\", hidden = 48, heads = 4, layers = 2, tp = 2 }\n```\n");
  press(ImGuiKey_F11);
  EXPECT_THAT(texts_in(harness_, "Stage"), Contains(::testing::AnyOf("7", "rank 7")));
  for (const std::string& words : texts_in(harness_, "Stage"))
    EXPECT_THAT(words, Not(ContainsRegex("Sharde?d?\xE2\x80\xA6"))) << "a word in part";
  press(ImGuiKey_PageDown);
  const std::vector<std::string> shown = texts_in(harness_, "Traffic");
  EXPECT_EQ(std::count(shown.begin(), shown.end(), "gathered"), 2) << "a bar for each of two lines";
}

// A scene's numbers by hand are the lesson's: its end brings back what a person typed.
TEST_F(Lessons, NumbersByHandAreTakenBack) {
  const lab::HandForm own = [&] {
    auto& view = harness_.view().of<ByHandView>();
    view.form.operands.at(lab::HandOperand::X, 0, 0) = 7;
    return view.form;
  }();
  open_scenes(
      "\n## A\n\nWords.\n\n```scene\nview = \"program\"\npage = \"by-hand\"\nby_hand = { gelu = false "
      "}\n```\n");
  EXPECT_FALSE(harness_.view().of<ByHandView>().form.choice.gelu);
  EXPECT_EQ(harness_.view().of<ByHandView>().form.operands, lab::HandForm().operands);
  EXPECT_EQ(harness_.view().of<ByHandView>().own_form(), own) << "this one is remembered";
  click("//Lesson/close lesson");
  EXPECT_EQ(harness_.view().of<ByHandView>().form, own);
}

TEST_F(Lessons, InFrontOfAClassThereIsNoRowOfTabs) {
  open();
  const auto top_of_page = [] {
    const ImGuiWindow* const stage = ImGui::FindWindowByName("Stage");
    return stage->InnerRect.Min.y - stage->Pos.y;
  };
  EXPECT_GT(top_of_page(), 20);
  press(ImGuiKey_F11);
  EXPECT_LT(top_of_page(), 2) << "the page begins where the row of tabs was";
  press(ImGuiMod_Ctrl | ImGuiKey_3);
  EXPECT_TRUE(is_shown("Memory"));
  EXPECT_FALSE(is_shown("Stage"));
  press(ImGuiKey_PageDown);
  EXPECT_TRUE(is_shown("Stage")) << "back to the scene";
  press(ImGuiKey_F11);
  EXPECT_GT(top_of_page(), 20);
}

TEST_F(Lessons, NotesAndABlankWindow) {
  open();
  press(ImGuiKey_F11);
  EXPECT_THAT(card_text(), Not(HasSubstr("Ask for the hands first.")));
  press(ImGuiKey_N);
  EXPECT_THAT(card_text(), HasSubstr("Ask for the hands first."));
  press(ImGuiKey_Period);
  EXPECT_TRUE(lesson().blank);
  press(ImGuiKey_Period);
  EXPECT_FALSE(lesson().blank);
}

TEST_F(Lessons, NotesHaveAWindowOfTheirOwnWhereThereIsAnotherScreen) {
  harness_.view().screens = 2;
  open();
  const auto second = [&] { return join(words_in_second_window()); };
  EXPECT_EQ(second(), "") << "who reads alone has no such window";
  press(ImGuiKey_F11);
  EXPECT_THAT(second(),
              AllOf(HasSubstr("Ask for the hands first."), HasSubstr("of 3 min"),
                    HasSubstr("How often do the ranks meet, forward?"), HasSubstr("PgDn: the next question"),
                    HasSubstr("How many columns does a rank hold?")));
  EXPECT_THAT(card_text(), Not(HasSubstr("Ask for the hands first.")));
  ASSERT_TRUE(settle());
  EXPECT_THAT(second(), AllOf(HasSubstr("Right: 1"), HasSubstr("The class does not see it yet")));
  EXPECT_TRUE(session().snapshot()->answers.empty()) << "only who teaches has seen it";
  press(ImGuiKey_A);
  EXPECT_THAT(second(), HasSubstr("(1 hand)"));
  press(ImGuiKey_Enter);
  EXPECT_THAT(second(), AllOf(HasSubstr("Right: 1"), Not(HasSubstr("The class does not see it yet"))));
  press(ImGuiKey_Period);
  EXPECT_THAT(second(), HasSubstr("The class's window is blank"));
  press(ImGuiKey_PageDown);
  EXPECT_THAT(second(), AllOf(HasSubstr("PgDn: the next scene"), HasSubstr("Point and order"),
                              HasSubstr("Look at the sum.")));
  press(ImGuiKey_N);
  EXPECT_EQ(second(), "");
  EXPECT_THAT(card_text(), Not(HasSubstr("Ask for the hands first.")));
  press(ImGuiKey_N);
  EXPECT_NE(second(), "");
  press(ImGuiKey_F11);
  EXPECT_EQ(second(), "") << "the lecture has ended";
}

TEST_F(Lessons, AScenesComparisonOfRecordingsIsShown) {
  open_scenes(R"(
## Two recordings

Words.

```scene
view = "compare"
page = "recordings"
recording = "gallery:layer-megatron"
compare = { recording = "gallery:layer-reversed" }
```

## One against its run here

Words.

```scene
view = "compare"
page = "recordings"
compare = { recording = "gallery:layer-reversed" }
```
)");
  const auto compared = [&] { return harness_.studio().diff().snapshot()->compared; };
  const auto reads = [&](const std::string& a, const std::string& b) {
    return harness_.draw_until(
        [&] { return compared() && compared()->a.path == a && compared()->b.path == b; });
  };
  EXPECT_TRUE(reads("gallery:layer-megatron", "gallery:layer-reversed"));
  EXPECT_FALSE(compared()->diff.same_program);
  EXPECT_EQ(harness_.view().tab, Tab::Compare);
  press(ImGuiKey_PageDown);
  EXPECT_TRUE(reads("gallery:layer-reversed", ""));
  EXPECT_TRUE(compared()->diff.same_program);
}

TEST_F(Lessons, ASceneTrainsAndShowsTheCurvesThatItsNumbersComeFrom) {
  open_scenes(R"(
## Words

Words.
)" + std::string(kTraining));
  const auto trained = [&] { return harness_.studio().training().snapshot(); };
  EXPECT_TRUE(trained()->curves.empty());
  press(ImGuiKey_PageDown);
  ASSERT_EQ(trained()->state, TrainState::Done) << trained()->message;
  ASSERT_EQ(trained()->curves.size(), 2u);
  const TrainCurve& pre = *trained()->curves[1];
  EXPECT_EQ(pre.options.settings.model.norm, NormPlacement::Pre);
  ASSERT_EQ(pre.steps.size(), 4u);
  EXPECT_THAT(card_text(), HasSubstr(to_text(number_of(pre.steps[3]->report.loss))));
  EXPECT_EQ(harness_.view().tab, Tab::Train);
  const auto before = trained()->curves;
  press(ImGuiKey_PageUp);
  press(ImGuiKey_PageDown);
  EXPECT_EQ(trained()->curves, before) << "it is not trained again";
}

TEST_F(Lessons, ASceneLeavesATrainingOfThePersonsOwnAlone) {
  harness_.wait_until_at_rest();
  TrainView train;
  train.checkpoints = folder_.path() + "/checkpoints";  // it is kept where it stands when the studio ends
  train.single.layers = 1;
  train.single.batch = 2;
  train.single.seq = 16;
  train.single.steps = 1'000'000;
  harness_.studio().training().send(train.wish());
  const auto trained = [&] { return harness_.studio().training().snapshot(); };
  ASSERT_TRUE(harness_.draw_until([&] { return trained()->state == TrainState::Running; }));
  open_scenes(kTraining);
  EXPECT_EQ(trained()->state, TrainState::Running);
  EXPECT_EQ(trained()->curves.size(), 1u);
  EXPECT_THAT(join(texts_in(harness_, "Message")), HasSubstr("a training of yours goes on"));
}

TEST_F(Lessons, WhoLeavesThePathComesBack) {
  open();
  press(ImGuiKey_F11);
  harness_.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_3); });
  harness_.draw_frames(4);
  EXPECT_EQ(harness_.view().tab, Tab::Memory);
  EXPECT_TRUE(lesson().away);
  press(ImGuiKey_PageDown);
  EXPECT_EQ(lesson().scene, 0) << "back to the scene, not to the next";
  EXPECT_EQ(harness_.view().tab, Tab::Stage);
  EXPECT_FALSE(lesson().away);
  EXPECT_EQ(harness_.view().selected_step, step("mlp.proj"));
}

TEST_F(Lessons, AWordOfTheFieldIsExplainedUnderTheMouse) {
  open();
  std::vector<ImVec2> at;
  for (const mark::Words& words : words_on_screen(harness_))
    if (words.text == "ranks" && words.at.x < 300) at.push_back(words.at);
  ASSERT_EQ(at.size(), 1u) << "of the text, once";
  harness_.perform([&](ImGuiTestContext& person) { person.MouseMoveToPos({at[0].x + 4, at[0].y + 4}); });
  EXPECT_TRUE(is_shown("##Tooltip_00"));
  harness_.perform([&](ImGuiTestContext& person) { person.MouseMoveToPos({at[0].x + 4, at[0].y + 60}); });
  EXPECT_FALSE(is_shown("##Tooltip_00"));
}

TEST_F(Lessons, ALessonHasAnEnd) {
  open(3);
  press(ImGuiKey_PageDown);
  EXPECT_TRUE(lesson().ended);
  EXPECT_THAT(card(), Contains("The end of the lesson"));
  EXPECT_THAT(card(), Contains("You have answered 0 of 6 questions right."));
  EXPECT_EQ(lesson().progress[path_].scene, 0) << "who comes back begins again";
  press(ImGuiKey_PageUp);
  EXPECT_FALSE(lesson().ended);
  EXPECT_EQ(lesson().scene, 3);
}

TEST_F(Lessons, WhatWasShownCanBeTriedAgain) {
  open();
  click("//Lesson/**/choice 1.3");
  click("//Lesson/**/reveal 1");
  EXPECT_TRUE(session().snapshot()->answers.contains("the-only-meeting/1"));
  click("//Lesson/**/try again 1");
  EXPECT_FALSE(session().snapshot()->answers.contains("the-only-meeting/1"));
  click("//Lesson/**/choice 1.1");
  EXPECT_THAT(card(), Contains("Right: 1"));
}

TEST_F(Lessons, ARightAnswerComesBackToTheScene) {
  open();
  click("//Lesson/**/choice 1.2");
  click("//Lesson/**/show it 1");
  EXPECT_NE(harness_.snapshot().settings.split, named_split("megatron"));
  click("//Lesson/**/choice 1.1");
  EXPECT_EQ(harness_.snapshot().settings.split, named_split("megatron"));
  EXPECT_THAT(card(), Contains("Right: 1"));
}

TEST_F(Lessons, TheLessonIsClosed) {
  const Settings before = small_settings();
  open();
  EXPECT_NE(harness_.snapshot().settings.block, before.block);
  click("//Lesson/close lesson");
  EXPECT_FALSE(lesson().open);
  EXPECT_FALSE(is_shown("Lesson"));
  EXPECT_TRUE(harness_.view().of<StageLight>().lit.empty());
  EXPECT_TRUE(harness_.draw_until([&] { return harness_.snapshot().settings == before; }))
      << "what ran before the lesson runs again";
}

TEST_F(Lessons, ItsMistakeIsTakenBackWhenItIsClosed) {
  const Settings before = small_settings();
  open(3);
  ASSERT_TRUE(harness_.studio().breaks().snapshot()->planted);
  click("//Lesson/close lesson");
  EXPECT_TRUE(harness_.draw_until([&] {
    return !harness_.studio().breaks().snapshot()->planted && harness_.snapshot().settings == before;
  }));
}

TEST_F(Lessons, ItsRecordingIsClosedWithIt) {
  const Settings before = small_settings();
  open_scenes(R"(
## A recording

Words.

```scene
view = "stage"
recording = "gallery:layer-megatron"
```
)");
  ASSERT_TRUE(harness_.studio().replay().snapshot()->is_open());
  click("//Lesson/close lesson");
  EXPECT_TRUE(harness_.draw_until([&] {
    return !harness_.studio().replay().snapshot()->is_open() && harness_.snapshot().settings == before;
  }));
}

TEST_F(Lessons, ASceneWhoseRunIsCancelledIsSettled) {
  open_scenes(R"(
## Late

Words.

```scene
select = "mlp.proj"
run = { seq = 24 }
```

## Very late

Words.

```scene
select = "mlp.gelu"
run = { delays = ["2:mlp.fc:4000", "2:mlp.proj:4000"] }
```
)");
  harness_.studio().show_scene(1);
  ASSERT_TRUE(harness_.draw_until([&] { return harness_.snapshot().state == RunState::Running; }));
  harness_.studio().session().send(command::Cancel{});
  ASSERT_TRUE(settle());
  EXPECT_EQ(harness_.snapshot().state, RunState::Cancelled);
  EXPECT_EQ(harness_.view().selected_step, step("mlp.gelu"));
}

TEST_F(Lessons, ASceneBeginsAtTheTopWithNothingSelectedUnlessItSaysSo) {
  open_scenes(R"(
## Far down

Words.

```scene
select = "grad.ln1.out@partial"
run = { block = "layer" }
```

## From the beginning

Words.

```scene
run = { block = "layer" }
```
)");
  const auto rows = [] { return window_with("Stage/##stage_rows"); };
  ASSERT_NE(rows(), nullptr);
  EXPECT_GT(rows()->Scroll.y, 0);
  press(ImGuiKey_PageDown);
  EXPECT_EQ(harness_.view().selected_step, -1);
  EXPECT_EQ(rows()->Scroll.y, 0);
}

TEST_F(Lessons, AnUnknownLessonIsSaid) {
  harness_.wait_until_at_rest();
  harness_.studio().open_lesson("colum-then-row", 0);
  ASSERT_TRUE(harness_.draw_until([&] { return !session().snapshot()->message.empty(); }));
  EXPECT_FALSE(lesson().open);
  EXPECT_THAT(texts_in(harness_, "Message"), Contains(HasSubstr("column-then-row")));
}

TEST_F(Lessons, AChangedFileIsReadAgain) {
  open();
  std::string text = kLesson;
  text.replace(text.find("ranks hold"), 10, "ranks keep");
  std::ofstream(path_) << text;
  ASSERT_TRUE(harness_.draw_until([&] { return session().snapshot()->reading > 1; }));
  ASSERT_TRUE(settle());
  EXPECT_THAT(card_text(), HasSubstr("ranks keep"));
}

}  // namespace lesson_test
}  // namespace shardlens::ui
