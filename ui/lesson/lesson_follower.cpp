#include "ui/lesson/lesson_follower.h"

#include <imgui.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/runtime/snapshot.h"
#include "ui/lesson/lesson_view.h"
#include "ui/outbox.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr double kLookEverySeconds = 1;

}  // namespace

/// A lesson was opened, or its file was read again.
void LessonFollower::take_reading(const Context& c) {
  auto& view = c.view.of<LessonView>();
  const bool is_new = view.wanted == c.lesson.asked && view.starts;
  reading_ = c.lesson.reading;
  scene_ = -1;
  answer_ = nullptr;
  told_.clear();
  view.questions.clear();
  view.shown_for.clear();
  view.replied.clear();
  view.typed_into.clear();
  view.away = false;
  view.question = 0;
  view.open = c.lesson.is_open();
  if (is_new) {
    view.starts = false;
    view.scene = view.wanted_scene;
    view.began_seconds = ImGui::GetTime();
    view.blank = view.notes = view.ended = false;
    view.notes_window = c.view.screens > 1;
  }
  const int last = view.open ? static_cast<int>(c.lesson.scenes.size()) - 1 : 0;
  view.scene = std::clamp(view.scene, 0, last);
}

/// Shows the scene, as soon as its values are there.
void LessonFollower::show(const Context& c) {
  auto& view = c.view.of<LessonView>();
  const MadeScene& made = c.lesson.scenes[static_cast<size_t>(view.scene)];
  const bool again = std::exchange(view.again, false);
  if (view.scene == scene_ && !again) return;
  view.shown_for.clear();
  answer_ = nullptr;
  if (!made.shown) {
    if (made.problem.empty() && c.lesson.making != view.scene && !c.lesson.busy)
      c.send(lesson_command::Make{view.scene});
    if (made.problem.empty()) return;
    scene_ = view.scene;  // the card says why it cannot be shown
    return setter_.stop();
  }
  scene_ = view.scene;
  view.away = false;
  view.last = lesson_key(c.lesson);
  auto& progress = view.progress[view.last];
  progress.scene = view.scene;
  progress.seen.insert(view.scene);
  setter_.begin(c, std::make_shared<ShownState>(
                       ShownState{made.shown->scene->state, made.shown->settings, made.shown->callouts, ""}));
}

/// Shows what an answer means: the newest state that came with a mark or a reveal.
void LessonFollower::show_answer(const Context& c) {
  auto& view = c.view.of<LessonView>();
  auto& progress = view.progress[lesson_key(c.lesson)];
  for (const auto& [id, marked] : c.lesson.marked)
    (marked.right ? progress.right : progress.wrong).insert(id);
  if (view.shown_for.empty()) return;
  const auto found = c.lesson.shows.find(view.shown_for);
  if (found == c.lesson.shows.end()) return;
  const std::shared_ptr<const ShownState> wanted = shown_answer(c) != nullptr ? found->second : nullptr;
  if (wanted == answer_) return;
  if (wanted) {
    answer_ = wanted;
    setter_.begin(c, answer_);
  } else {
    view.again = true;  // the page showed what the answer before meant
  }
}

/// Who teaches sees in the notes' window what is right before the class does.
void LessonFollower::tell_teacher(const Context& c, bool rests) {
  const auto& view = c.view.of<LessonView>();
  const ShownQuestion* const asked = asked_question(c);
  if (!rests || !view.notes_window || !is_class(c.view) || asked == nullptr) return;
  const std::string& id = asked->question->id;
  if (id == told_ || c.lesson.answers.contains(id) || c.lesson.teachers_answers.contains(id)) return;
  told_ = id;  // what cannot be computed is not asked for again
  c.send(lesson_command::TellTeacher{id});
}

void LessonFollower::follow(const Context& c) {
  auto& view = c.view.of<LessonView>();
  if (c.lesson.reading != reading_) take_reading(c);
  view.open = view.open && c.lesson.is_open();
  if (std::exchange(was_open_, view.open) && !view.open)
    setter_.take_back(c, std::exchange(view.before, std::nullopt));
  if (c.lesson.message != message_) {
    message_ = c.lesson.message;
    if (!message_.empty()) c.view.said = {as_sentence(message_)};
  }
  if (!c.lesson.busy && c.lesson.asked == view.wanted && !c.lesson.message.empty())
    view.starts = false;  // it cannot be opened
  if (!view.open) return;
  view.seconds = ImGui::GetTime() - view.began_seconds;
  show(c);
  show_answer(c);
  const bool sets = !setter_.is_set();  // what it selects in this frame no person has pointed at
  setter_.advance(c);
  const std::tuple selection(c.view.selected_step, c.view.selected_tensor, c.view.selected_rank);
  const bool clicks = ImGui::IsMouseClicked(ImGuiMouseButton_Left) && !is_over_card();
  view.pointed = !sets && (view.pointed || clicks || selection != selection_);
  selection_ = selection;
  view.away = setter_.was_left(c, asks_for_a_cut(c));
  const bool is_made = scene_ == view.scene;  // or it cannot be, and the card says why
  if (is_made && (setter_.is_set() || setter_.shows_its_training(c)))
    view.awaited_since = -1;
  else if (view.awaited_since < 0)
    view.awaited_since = ImGui::GetTime();
  // The next scene's values are made while the class looks at this one.
  const auto next = static_cast<size_t>(view.scene) + 1;
  const bool rests = setter_.is_set() && !c.lesson.busy && c.snapshot.activity.empty() &&
                     c.snapshot.state != RunState::Running && c.snapshot.state != RunState::Planning;
  if (rests && next < c.lesson.scenes.size() && !c.lesson.scenes[next].shown &&
      c.lesson.scenes[next].problem.empty())
    c.send(lesson_command::Make{static_cast<int>(next)});
  tell_teacher(c, rests);
  if (!c.lesson.path.empty() && ImGui::GetTime() - looked_ > kLookEverySeconds) {
    looked_ = ImGui::GetTime();
    c.send(lesson_command::Look{});
  }
}

bool LessonFollower::is_settled(const Context& c) const {
  const auto& view = std::as_const(c.view).of<LessonView>();
  if (view.starts) return false;
  if (!view.open) return true;
  return scene_ == view.scene && !c.lesson.busy && setter_.is_set();
}

}  // namespace shardlens::ui
