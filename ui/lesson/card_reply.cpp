// The reply to a wrong answer, above the ways on. It has a place of its own, so that the choices do not move
// under the mouse. It stays until the question is answered right, revealed, or another one is answered.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/lesson/lesson_session.h"
#include "ui/lesson/card_parts.h"
#include "ui/lesson/lesson_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kMostOfCard = 0.5f;

bool is_open(const Context& c, const std::string& id) {
  const auto marked = c.lesson.marked.find(id);
  return !c.lesson.answers.contains(id) &&
         ((marked != c.lesson.marked.end() && !marked->second.right) || waits_to_be_marked(c, id));
}

/// The question that the reply is about: the one that was answered last, or else the scene's first that was
/// answered wrong. Null: there is none.
const Question* replied_question(const Context& c) {
  const ShownScene* const scene = made_scene(c);
  if (scene == nullptr || is_class(c.view)) return nullptr;
  const std::string& last = c.view.of<LessonView>().replied;
  const Question* found = nullptr;
  for (const ShownQuestion& shown : scene->questions) {
    if (!is_open(c, shown.question->id)) continue;
    if (found == nullptr || shown.question->id == last) found = shown.question;
  }
  return found;
}

/// The state in which a wrong answer would be right; null: there is none.
const ShownState* where_right(const Context& c, const std::string& id) {
  const auto shows = c.lesson.shows.find(id);
  return shows == c.lesson.shows.end() || !shows->second || shows->second->where_right.empty()
             ? nullptr
             : shows->second.get();
}

TextStyle style_of(const Context& c) {
  return {c.fonts.body, std::round(card_px(c, kCardQuestion)), c.theme.text};
}

}  // namespace

std::string reply_words(const Context& c, const Question& question) {
  if (waits_to_be_marked(c, question.id)) return kWaitsToBeMarked;
  if (!is_open(c, question.id)) return {};
  const Marked& marked = c.lesson.marked.at(question.id);
  const std::string answered =
      question.kind == QuestionKind::Point ? named_as_shown(c, marked.answered) : marked.answered;
  if (!marked.is_read && !answered.empty())
    return fmt::format("Not answered: \"{}\" {}. Try again, or see the answer.", answered, marked.message);
  std::string words = answered.empty() ? "" : fmt::format("\"{}\" is not right.", answered);
  if (!marked.message.empty()) words += (words.empty() ? "" : " ") + as_sentence(marked.message) + ".";
  if (!marked.hint.empty()) words += " " + marked.hint;
  if (const ShownState* const there = where_right(c, question.id))
    words += fmt::format(" It would be with {}.", there->where_right);
  else if (const ShownState* const shown = shown_answer(c);
           shown != nullptr && c.view.of<LessonView>().shown_for == question.id)
    words += " The page shows what it would mean.";
  return words + " Try again, or see the answer.";
}

float reply_height(const Context& c, float width, float room) {
  const Question* const question = replied_question(c);
  if (question == nullptr) return 0;
  const float words = wrapped_height(style_of(c), reply_words(c, *question), width - c.px(12));
  const float rows = where_right(c, question->id) != nullptr ? 2 : 1;
  return std::round(std::min(
      room * kMostOfCard,
      words + c.px(2 * 8) + (waits_to_be_marked(c, question->id) ? 0.0f : rows * c.px(kControlHeight + 8))));
}

void draw_reply(const Context& c, float height) {
  const Question* const question = replied_question(c);
  if (question == nullptr) return;
  const std::string& id = question->id;
  const std::string number = id.substr(id.rfind('/') + 1);
  ImGui::BeginChild("reply", {0, height}, ImGuiChildFlags_NavFlattened);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, left = c.px(12);
  ImGui::Dummy({0, c.px(8)});
  draw_card_words(c, style_of(c), reply_words(c, *question), width, 8, left);
  if (!waits_to_be_marked(c, id)) {
    auto& open = c.view.of<LessonView>().questions[id];
    ImGui::Indent(left);
    if (where_right(c, id) != nullptr && shown_answer(c) == nullptr) {
      if (draw_button(c, ("show it " + number).c_str(), "Show it on the page", ButtonLook::Plain, true, "")) {
        open.wants_shown = true;
        c.view.of<LessonView>().shown_for = id;
      }
      ImGui::Dummy({0, c.px(8)});
    }
    // At the right, where no other button was: a click too many must not give the answer away.
    constexpr const char* kSee = "See the answer";
    ImGui::SetCursorPosX(std::max(left, width - button_width(c, kSee)));
    if (draw_button(c, ("reveal " + number).c_str(), kSee, ButtonLook::Plain, true, "")) reveal(c, id);
    ImGui::Unindent(left);
  }
  fill_rect(ImGui::GetWindowDrawList(), at, {at.x + c.px(3), at.y + height - c.px(4)}, c.theme.forward);
  ImGui::EndChild();
}

}  // namespace shardlens::ui
