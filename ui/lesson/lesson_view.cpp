// What a person does in a lesson: opens it, goes from scene to scene, reveals answers, counts hands.
#include "ui/lesson/lesson_view.h"

#include <imgui.h>

#include <algorithm>
#include <utility>

#include "engine/lesson/lesson_session.h"
#include "ui/outbox.h"

namespace shardlens::ui {
namespace {

/// Most scenes are there sooner, and most answers marked.
constexpr double kSaidAfterSeconds = 0.3;

int scene_count(const Context& c) {
  return static_cast<int>(c.lesson.scenes.size());
}

int question_count(const Context& c, int scene) {
  return static_cast<int>(c.lesson.lesson->scenes[static_cast<size_t>(scene)].questions.size());
}

/// True if the studio shows something else than the scene: a person has left it, or what an answer means.
bool is_elsewhere(const LessonView& view) {
  return view.away || !view.shown_for.empty();
}

/// The page shows what it means, and the card that it is on its way.
void ask_about(const Context& c, const std::string& question) {
  auto& view = c.view.of<LessonView>();
  view.shown_for = view.replied = question;
  OpenQuestion& open = view.questions[question];
  open.verdict.clear();
  open.wants_shown = false;
  ++open.sent;
  open.sent_seconds = ImGui::GetTime();
}

bool is_digit_pressed() {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.KeyCtrl || io.KeyAlt || io.KeyShift || io.KeySuper) return false;
  for (int digit = 0; digit < 10; ++digit)
    for (const ImGuiKey first : {ImGuiKey_0, ImGuiKey_Keypad0})
      if (ImGui::IsKeyPressed(static_cast<ImGuiKey>(first + digit), false)) return true;
  return false;
}

}  // namespace

bool asks_for_a_cut(const Context& c) {
  const ShownScene* const scene = made_scene(c);
  return scene != nullptr &&
         std::any_of(scene->questions.begin(), scene->questions.end(),
                     [](const ShownQuestion& one) { return one.question->kind == QuestionKind::Cut; });
}

bool keeps_findings_back(const Context& c) {
  const auto& view = c.view.of<LessonView>();
  if (!view.open || !c.lesson.is_open() || !c.breaks.planted) return false;
  const auto plants = [&](const Scene& scene) { return scene.state.mistake == c.breaks.planted; };
  const auto asks = [&](const Scene& scene) {
    return plants(scene) &&
           std::any_of(scene.questions.begin(), scene.questions.end(),
                       [&](const Question& one) { return !c.lesson.answers.contains(one.id); });
  };
  const std::vector<Scene>& scenes = c.lesson.lesson->scenes;
  const auto shown = static_cast<size_t>(view.scene);
  // While the next scene is on its way, the mistake is still that of the scene before.
  if (shown < scenes.size() && plants(scenes[shown])) return asks(scenes[shown]);
  return std::any_of(scenes.begin(), scenes.end(), asks);
}

bool keeps_back(const Context& c, std::string_view function) {
  const ShownScene* const scene = c.view.of<LessonView>().open ? made_scene(c) : nullptr;
  return scene != nullptr &&
         std::any_of(scene->questions.begin(), scene->questions.end(), [&](const ShownQuestion& one) {
           return !c.lesson.answers.contains(one.question->id) && asks_for(*one.question, function);
         });
}

bool are_settings_the_lessons(const Context& c) {
  if (!c.view.of<LessonView>().open) return false;
  const ShownScene* const scene = made_scene(c);
  const ShownState* const answer = shown_answer(c);
  const auto are = [&](const Settings& settings, const SceneState& state) {
    return settings == c.wanted() && state.mistake == c.breaks.planted;
  };
  return (scene != nullptr && are(scene->settings, scene->scene->state)) ||
         (answer != nullptr && are(answer->settings, answer->state));
}

std::string lesson_key(const LessonSnapshot& lesson) {
  return !lesson.path.empty() ? lesson.path : lesson.lesson ? lesson.lesson->name : "";
}

void open_lesson(const Context& c, const std::string& name_or_file, int scene, std::optional<uint64_t> seed) {
  auto& view = c.view.of<LessonView>();
  view.starts = true;
  view.wanted = name_or_file;
  view.wanted_scene = scene;
  if (!view.open && !c.replay.is_open()) view.before = c.wanted();
  c.send(lesson_command::Open{name_or_file, seed});
}

void close_lesson(const Context& c) {
  c.view.of<LessonView>().open = false;  // the LessonFollower takes back what the scenes have set
  c.send(lesson_command::Close{});
}

void show_scene(const Context& c, int scene) {
  auto& view = c.view.of<LessonView>();
  view.scene = std::clamp(scene, 0, std::max(0, scene_count(c) - 1));
  view.question = 0;
  view.again = true;
  view.ended = false;
}

bool has_next(const Context& c) {
  const auto& view = c.view.of<LessonView>();
  return view.open && !view.ended;
}

bool has_previous(const Context& c) {
  const auto& view = c.view.of<LessonView>();
  return view.open && (view.ended || view.away || view.scene > 0 || (is_class(c.view) && view.question > 0));
}

void next_scene(const Context& c) {
  auto& view = c.view.of<LessonView>();
  view.blank = false;
  if (view.away) {
    view.again = true;
  } else if (is_class(c.view) && view.question + 1 < question_count(c, view.scene)) {
    ++view.question;
    view.again = is_elsewhere(view);
  } else if (view.scene + 1 == scene_count(c)) {
    view.ended = true;
    view.progress[lesson_key(c.lesson)].scene = 0;  // who comes back after the end begins again
  } else {
    show_scene(c, view.scene + 1);
  }
}

void previous_scene(const Context& c) {
  auto& view = c.view.of<LessonView>();
  view.blank = false;
  if (view.ended) {
    view.ended = false;
  } else if (view.away) {
    view.again = true;
  } else if (is_class(c.view) && view.question > 0) {
    --view.question;
    view.again = is_elsewhere(view);
  } else {
    show_scene(c, view.scene - 1);
  }
}

const ShownScene* made_scene(const Context& c) {
  const auto& view = c.view.of<LessonView>();
  if (!view.open || static_cast<size_t>(view.scene) >= c.lesson.scenes.size()) return nullptr;
  return c.lesson.scenes[static_cast<size_t>(view.scene)].shown.get();
}

const ShownQuestion* asked_question(const Context& c) {
  const ShownScene* const scene = made_scene(c);
  const auto question = static_cast<size_t>(c.view.of<LessonView>().question);
  if (scene == nullptr || question >= scene->questions.size()) return nullptr;
  return &scene->questions[question];
}

const ShownState* shown_answer(const Context& c) {
  const auto& view = std::as_const(c.view).of<LessonView>();
  const auto found = c.lesson.shows.find(view.shown_for);
  if (found == c.lesson.shows.end() || !found->second) return nullptr;
  const auto open = view.questions.find(view.shown_for);
  const bool is_wanted = open != view.questions.end() && open->second.wants_shown;
  return found->second->where_right.empty() || is_wanted ? found->second.get() : nullptr;
}

bool awaits_scene(const ViewState& view) {
  const auto& lesson = view.of<LessonView>();
  return lesson.open && !lesson.ended && lesson.awaited_since >= 0 &&
         ImGui::GetTime() - lesson.awaited_since > kSaidAfterSeconds;
}

bool take_keys_to_number(const Context& c) {
  const ShownScene* const scene = made_scene(c);
  if (scene == nullptr || is_class(c.view)) return false;
  if (!is_digit_pressed()) return false;
  bool asks = false;
  for (const ShownQuestion& shown : scene->questions) {
    const std::string& id = shown.question->id;
    if (shown.question->kind != QuestionKind::Number) continue;
    asks = true;  // the last digits of an answer may come after it is right
    if (c.lesson.answers.contains(id)) continue;
    auto& view = c.view.of<LessonView>();
    if (std::exchange(view.typed_into, id) != id) view.questions[id].typed.clear();
    return true;
  }
  return asks;
}

bool waits_to_be_marked(const Context& c, const std::string& question) {
  const auto& questions = std::as_const(c.view).of<LessonView>().questions;
  const auto open = questions.find(question);
  if (open == questions.end() || !c.lesson.busy) return false;  // what is dropped does not wait
  const auto done = c.lesson.carried_out.find(question);
  const int carried_out = done == c.lesson.carried_out.end() ? 0 : done->second;
  return open->second.sent > carried_out && ImGui::GetTime() - open->second.sent_seconds > kSaidAfterSeconds;
}

void answer(const Context& c, const std::string& question, nlohmann::json value) {
  ask_about(c, question);
  c.send(lesson_command::Answer{question, std::move(value)});
}

void reveal(const Context& c, const std::string& question) {
  ask_about(c, question);
  c.send(lesson_command::Reveal{question});
}

void raise_hand(const Context& c, size_t choice) {
  const ShownQuestion* const asked = asked_question(c);
  if (asked == nullptr || choice >= asked->choices.size()) return;
  c.view.of<LessonView>().questions[asked->question->id].hands.push_back(static_cast<int>(choice));
}

void take_hand_back(const Context& c) {
  const ShownQuestion* const asked = asked_question(c);
  if (asked == nullptr) return;
  auto& hands = c.view.of<LessonView>().questions[asked->question->id].hands;
  if (!hands.empty()) hands.pop_back();
}

}  // namespace shardlens::ui
