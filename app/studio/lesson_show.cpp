// Goes through a lesson as a lecturer does, and waits for everything that a picture shows.
#include "app/studio/lesson_show.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/run_keys.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/collective/collective_view.h"
#include "ui/lesson/lesson_view.h"

namespace shardlens {
namespace {

constexpr double kWordsPerSecond = 2.5, kLookSeconds = 3;

/// The studio begins with what the first scene runs, so that nothing runs in vain.
Options at_first_scene(const Options& options, const Lesson& lesson) {
  Options first = options;
  first.settings = settings_of(lesson, lesson.scenes.front().state, draw(lesson, options.lesson_seed));
  first.view = "stage";
  first.scene = 1;
  return first;
}

size_t words_in(const std::string& text) {
  return 1 + static_cast<size_t>(std::count(text.begin(), text.end(), ' '));
}

}  // namespace

LessonShow::LessonShow(const Options& options, PixelSize size)
    : lesson_(find_lesson(options.lesson)), shown_(at_first_scene(options, *lesson_), size) {
  now_ = studio().lesson().snapshot();
  lesson_ = now_->lesson;  // to which questions and scenes point
}

std::shared_ptr<const LessonSnapshot> LessonShow::rest() {
  std::shared_ptr<const LessonSnapshot> now = studio().lesson().wait_until_idle(kTimeoutSeconds);
  if (!now->message.empty()) throw request_error(now->message);
  return now;
}

std::shared_ptr<const ShownScene> LessonShow::show(size_t scene) {
  for (const Question& question : lesson_->scenes[scene].questions)
    if (now_->answers.contains(question.id)) forget(question.id);
  shown_.show_scene(static_cast<int>(scene));
  now_ = rest();
  const MadeScene& made = now_->scenes[scene];
  if (!made.shown) throw request_error(made.problem);
  studio().view().playing = false;
  studio().view().of<ui::CollectiveView>().playing = false;
  if (studio().replayed().playing) studio().replay().send(replay_command::Pause{});
  return made.shown;
}

void LessonShow::forget(const std::string& question) {
  studio().lesson().send(lesson_command::Forget{question});
  now_ = rest();
}

const RightAnswer& LessonShow::answer(const std::string& question) {
  if (const auto known = answers_.find(question); known != answers_.end()) return known->second;
  const bool is_shown = now_->answers.contains(question);
  studio().lesson().send(lesson_command::Reveal{question});
  now_ = rest();
  answers_[question] = now_->answers.at(question);
  if (!is_shown) forget(question);
  return answers_[question];
}

void LessonShow::make_all() {
  for (size_t scene = 0; scene < lesson_->scenes.size(); ++scene) {
    studio().lesson().send(lesson_command::Make{static_cast<int>(scene)});
    now_ = rest();
    if (!now_->scenes[scene].shown) throw request_error(now_->scenes[scene].problem);
    for (const Question& question : lesson_->scenes[scene].questions) answer(question.id);
  }
}

void LessonShow::ask(const Question& question, bool reveals) {
  auto& view = studio().view().of<ui::LessonView>();
  const Scene& scene = lesson_->scenes[static_cast<size_t>(view.scene)];
  view.question = static_cast<int>(&question - scene.questions.data());
  for (int before = 0; before < view.question; ++before)  // a class has seen what was asked before
    studio().lesson().send(lesson_command::Reveal{scene.questions[static_cast<size_t>(before)].id});
  if (reveals) {
    studio().lesson().send(lesson_command::Reveal{question.id});
    view.shown_for = question.id;
  }
  now_ = rest();
  shown_.draw_frame();
  shown_.wait_for_lesson();
}

Options in_class(const Options& options) {
  Options out = options;
  out.present = true;
  return out;
}

std::vector<Still> stills_of(const Lesson& lesson) {
  std::vector<Still> stills;
  for (size_t scene = 0; scene < lesson.scenes.size(); ++scene) {
    const auto questions = static_cast<int>(lesson.scenes[scene].questions.size());
    if (questions == 0) stills.push_back({scene});
    for (int question = 0; question < questions; ++question) {
      stills.push_back({scene, question, false});
      stills.push_back({scene, question, true});
    }
  }
  return stills;
}

void show(LessonShow& lesson, const Still& still) {
  const int scene = lesson.studio().view().of<ui::LessonView>().scene;
  if (!still.revealed || scene != static_cast<int>(still.scene)) lesson.show(still.scene);
  if (still.question < 0) return;
  lesson.ask(lesson.lesson().scenes[still.scene].questions[static_cast<size_t>(still.question)],
             still.revealed);
}

double reading_seconds(LessonShow& lesson, const Still& still) {
  const auto now = lesson.studio().lesson().snapshot();
  const ShownScene& scene = *now->scenes[still.scene].shown;
  size_t words = 0;
  if (still.revealed) {
    words +=
        words_in(lesson.answer(scene.questions[static_cast<size_t>(still.question)].question->id).because);
  } else {
    if (still.question <= 0)
      for (const ShownParagraph& paragraph : scene.text)
        for (const ShownSpan& span : paragraph.spans) words += words_in(span.text);
    if (still.question >= 0) {
      const ShownQuestion& asked = scene.questions[static_cast<size_t>(still.question)];
      words += words_in(asked.ask);
      for (const std::string& choice : asked.choices) words += words_in(choice);
    }
  }
  return kLookSeconds + static_cast<double>(words) / kWordsPerSecond;
}

}  // namespace shardlens
