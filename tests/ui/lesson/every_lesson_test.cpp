// Goes through every built-in lesson in windows of two sizes: what a scene speaks of is on the screen, an
// answer's verdict is inside the card, and what a question asks is shown nowhere before it is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/train/experiments/break_snapshot.h"
#include "tests/engine/lesson/built_in_names.h"
#include "tests/ui/studio_harness.h"
#include "ui/lesson/lesson_view.h"
#include "ui/plan/sections.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/product_view.h"
#include "ui/stage/stage_light.h"

namespace shardlens::ui {
namespace every_lesson_test {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::Not;

constexpr double kTimeoutSeconds = 500;
constexpr PixelSize kSizes[] = {{1280, 720}, {1920, 1080}};

class EveryLesson : public ::testing::TestWithParam<std::string> {
 protected:
  LessonView& view() { return harness_.view().of<LessonView>(); }
  LessonSession& session() { return harness_.studio().lesson(); }
  const Lesson& lesson() { return *session().snapshot()->lesson; }

  void open() {
    harness_.wait_until_at_rest();
    harness_.studio().open_lesson(GetParam(), 0);
    settle();
    ASSERT_TRUE(view().open) << session().snapshot()->message;
  }
  void settle() {
    harness_.draw_frames(2);
    session().wait_until_idle(kTimeoutSeconds);
    harness_.draw_frames(2);
    ASSERT_TRUE(harness_.draw_until([&] { return harness_.studio().lesson_is_settled(); }));
    harness_.studio().breaks().wait_until_idle(kTimeoutSeconds);
    harness_.draw_frames(4);
  }
  void show(size_t scene) {
    harness_.studio().show_scene(static_cast<int>(scene));
    settle();
  }
  /// Calls `look` in a window of each size.
  void in_each_size(const std::function<void(const std::string&)>& look, bool in_class = false) {
    harness_.view().set_lecture(in_class);
    for (const PixelSize size : kSizes) {
      harness_.platform().resize(size);
      harness_.draw_frames(16);  // the card's type and the rows follow
      look(std::to_string(size.width) + "x" + std::to_string(size.height) + (in_class ? ", class" : ""));
    }
    harness_.view().set_lecture(false);
    harness_.draw_frames(4);
  }
  std::string scene_name() { return lesson().scenes[static_cast<size_t>(view().scene)].id; }

  ImRect place_of(const std::string& item) {
    ImRect place;
    harness_.perform(
        [&](ImGuiTestContext& person) { place = person.ItemInfo(("//Stage/**/" + item).c_str()).RectFull; });
    return place;
  }
  static void expect_inside(const ImRect& place, const ImRect& room, const std::string& what) {
    EXPECT_GE(place.Min.y, room.Min.y - 1) << what;
    EXPECT_LE(place.Max.y, room.Max.y + 1) << what;
  }
  /// Every row that the scene lights or calls out, and the words beside it.
  void expect_light_in_view(const std::string& where) {
    const std::shared_ptr<const Plan> plan = harness_.view().shown;
    const StageLight& light = std::as_const(harness_.view()).of<StageLight>();
    const bool strip = is_whole_model(plan->program) && harness_.view().open_section == kWholeModel;
    ImGuiWindow* const rows = window_with(strip ? "Stage/##stage_strip" : "Stage/##stage_rows");
    if (harness_.view().tab != Tab::Stage || rows == nullptr || light == StageLight{}) return;
    std::vector<std::string> names = light.lit;
    for (const StageCallout& callout : light.callouts) names.push_back(callout.at);
    if (const StepId step = harness_.view().selected_step; step >= 0)
      names.push_back(plan->program.step(step).name);
    for (const std::string& name : names) {
      const stage::NamedPlace place = stage::place_named(plan->program, name);
      if (place.step < 0) continue;
      const bool is_input = place.tensor != kNoTensor && producer_of(plan->program, place.tensor) < 0 &&
                            window_has("##stage_tensor_" + std::to_string(place.tensor));
      const std::string item =
          strip ? "##stage_section_" +
                      std::to_string(sections_of(plan).of_step[static_cast<size_t>(place.step)])
          : is_input ? "##stage_tensor_" + std::to_string(place.tensor)
                     : "##stage_step_" + std::to_string(place.step);
      expect_inside(place_of(item), rows->InnerRect, where + ": " + name);
    }
    std::string said;
    for (const mark::Words& words : words_on_screen(harness_))
      if (words.at.y >= rows->InnerRect.Min.y - 1 &&
          words.at.y + words.style.size <= rows->InnerRect.Max.y + 1)
        said += words.text + " ";
    for (const StageCallout& callout : light.callouts)
      EXPECT_THAT(said, ::testing::HasSubstr(callout.text)) << where;
  }
  bool window_has(const std::string& item) {
    bool found = false;
    harness_.perform([&](ImGuiTestContext& person) {
      found = person.ItemInfo(("//Stage/**/" + item).c_str(), ImGuiTestOpFlags_NoError).ID != 0;
    });
    return found;
  }

  /// What is said of a planted mistake only once all of its scene's questions are answered.
  void expect_findings_kept_back(const std::string& where) {
    for (const Tab tab : {Tab::BreakIt, Tab::Stage}) {
      harness_.view().tab = tab;
      harness_.view().focus_tab = true;
      harness_.draw_frames(4);
      std::string said;
      for (const mark::Words& words : words_on_screen(harness_)) said += words.text + "\n";
      EXPECT_THAT(said, Not(AnyOf(ContainsRegex("starts at "), ContainsRegex("wrong from "),
                                  ContainsRegex("[0-9] of [0-9]+ wrong"), ContainsRegex("finds it first"))))
          << where;
    }
  }

  /// The derivation of a planted mistake's step would say that it is one.
  void expect_no_derivation_of_the_mistake(const std::string& where) {
    const std::shared_ptr<const Plan> plan = shared_shown_plan(harness_.snapshot());
    ASSERT_TRUE(plan);
    harness_.view().tab = Tab::Stage;
    harness_.view().focus_tab = true;
    for (const Step& step : plan->program.steps) {
      select_step(harness_.view(), plan->program, step.id);
      harness_.view().of<ProductView>() = {.open = true, .derivation = true};
      harness_.draw_frames(2);
      for (const mark::Words& words : words_on_screen(harness_))
        EXPECT_THAT(words.text, Not(::testing::HasSubstr("\u2260"))) << where << ": " << step.equation;
    }
    harness_.view().of<ProductView>() = {};
  }

  /// The lines that are wholly inside a part of the card, as one text.
  std::string text_in(const char* part) {
    const ImGuiWindow* const card = window_with(part);
    if (card == nullptr) return "";
    std::string all;
    for (const mark::Words& words : words_on_screen(harness_))
      if (words.at.x < card->InnerRect.Max.x && words.at.y >= card->InnerRect.Min.y - 1 &&
          words.at.y + words.style.size <= card->InnerRect.Max.y + 1)
        all += words.text + " ";
    return all;
  }
  void answer(const Question& question, const nlohmann::json& value) {
    view().shown_for = question.id;
    session().send(lesson_command::Answer{question.id, value});
    settle();
  }
  RightAnswer right_answer(const Question& question) {
    session().send(lesson_command::Reveal{question.id});
    const RightAnswer right = session().wait_until_idle(kTimeoutSeconds)->answers.at(question.id);
    session().send(lesson_command::Forget{question.id});
    session().wait_until_idle(kTimeoutSeconds);
    return right;
  }
  /// Answers that are no right ones, the most likely wrong one first.
  std::vector<nlohmann::json> other_answers(const ShownQuestion& shown, const RightAnswer& right) {
    const Program& program = shown_plan(harness_.snapshot())->program;
    const Question& question = *shown.question;
    std::vector<nlohmann::json> all;
    const auto add = [&](const std::string& one) {
      if (std::find(right.accepted.begin(), right.accepted.end(), one) == right.accepted.end())
        all.emplace_back(one);
    };
    switch (question.kind) {
      case QuestionKind::Number:
        return {3 * right.numbers.front() + 1};
      case QuestionKind::Choice:
        for (const std::string& one : shown.choices) add(one);
        return all;
      case QuestionKind::Order:
        return {std::vector<std::string>(right.accepted.rbegin(), right.accepted.rend())};
      case QuestionKind::Cut:
        for (const char* const cut : {"replicated", "row"})
          all.push_back({{"mlp.fc", cut}, {"mlp.proj", cut}, {"attn.qkv", cut}, {"attn.proj", cut}});
        return all;
      case QuestionKind::Point:
        break;
    }
    if (question.at == PointAt::Rank)
      for (int rank = 0; rank < program.tp(); ++rank) all.emplace_back("rank " + std::to_string(rank));
    else if (question.at == PointAt::Tensor)
      for (const Tensor& tensor : program.tensors) add(tensor.name);
    else
      for (const Step& step : program.steps) add(step.name);
    return all;
  }
  void answer_wrong(const ShownQuestion& shown, const RightAnswer& right) {
    for (const nlohmann::json& one : other_answers(shown, right)) {
      answer(*shown.question, one);
      if (!session().snapshot()->marked.at(shown.question->id).right) return;
      session().send(lesson_command::Forget{shown.question->id});
    }
    FAIL() << "no wrong answer to " << shown.question->id;
  }

  StudioHarness harness_{kSizes[0]};
};

TEST_P(EveryLesson, ShowsWhatItSpeaksOfAndNoAnswerBeforeItsQuestion) {
  open();
  for (size_t scene = 0; scene < lesson().scenes.size(); ++scene) {
    show(scene);
    for (const bool in_class : {false, true})
      in_each_size([&](const std::string& size) { expect_light_in_view(scene_name() + ", " + size); },
                   in_class);
    if (!lesson().scenes[scene].state.mistake) continue;
    in_each_size([&](const std::string& size) { expect_findings_kept_back(scene_name() + ", " + size); });
    expect_no_derivation_of_the_mistake(scene_name());
  }
}

TEST_P(EveryLesson, BringsEachVerdictIntoTheCard) {
  open();
  for (size_t scene = 0; scene < lesson().scenes.size(); ++scene) {
    show(scene);
    for (const ShownQuestion& shown : session().snapshot()->scenes[scene].shown->questions) {
      const Question& question = *shown.question;
      const RightAnswer right = right_answer(question);
      ASSERT_NO_FATAL_FAILURE(answer_wrong(shown, right));
      in_each_size([&](const std::string& size) {
        EXPECT_THAT(text_in("Lesson/reply"), ContainsRegex("[Nn]ot .*Try again, or see the answer\\."))
            << question.id << ", " << size;
      });
      harness_.perform([&](ImGuiTestContext& person) {
        person.ItemClick(("//Lesson/**/reveal " + question.id.substr(question.id.rfind('/') + 1)).c_str());
      });
      settle();
      for (const bool in_class : {false, true}) {
        view().question = static_cast<int>(&question - lesson().scenes[scene].questions.data());
        in_each_size(
            [&](const std::string& size) {
              EXPECT_THAT(text_in("Lesson/scene "), ::testing::HasSubstr(right.because))
                  << question.id << ", " << size;
            },
            in_class);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryLesson, ::testing::ValuesIn(testing::built_in_names()),
                         testing::test_name);

}  // namespace every_lesson_test
}  // namespace shardlens::ui
