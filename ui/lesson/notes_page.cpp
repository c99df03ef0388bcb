// What the notes' window shows: at the left the scene and its notes, at the right what comes next.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/lesson/lesson_session.h"
#include "ui/frame/guarded.h"
#include "ui/lesson/card_parts.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/notes_window.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kPagePadding = 20, kApart = 24, kClockSize = 26;
constexpr float kNextOfWindow = 0.38f;

TextStyle page_style(const Context& c, ImFont* font, float size, ImU32 colour) {
  return {font, std::round(c.px(size)), colour};
}

/// The lesson's name, the scene's place in it, and the time.
void draw_page_head(const Context& c, float width) {
  const auto& view = c.view.of<LessonView>();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const TextStyle clock = page_style(c, c.fonts.bold, kClockSize, c.theme.text);
  const std::string time = clock_text(c);
  draw_text(list, {at.x + width, at.y}, clock, time, Align::Right);
  const TextStyle title = page_style(c, c.fonts.bold, kCardText, c.theme.dim);
  const std::string place =
      fmt::format("{}  \u00B7  {} of {}", c.lesson.lesson->title, view.scene + 1, c.lesson.scenes.size());
  draw_text(list, {at.x, at.y + (clock.size - title.size) / 2}, title,
            fitted(title, place, width - text_width(clock, time) - c.px(kApart)));
  ImGui::Dummy({width, clock.size + c.px(kApart)});
}

/// The question that the class is asked, and its hands.
void draw_asked(const Context& c, const ShownQuestion& asked, float width) {
  const TextStyle bold = page_style(c, c.fonts.bold, kCardText, c.theme.text);
  const TextStyle text = page_style(c, c.fonts.body, kCardText, c.theme.text);
  draw_card_words(c, bold, asked.ask, width, 8);
  const auto& open = c.view.of<LessonView>().questions[asked.question->id];
  for (size_t i = 0; i < asked.choices.size(); ++i) {
    const auto hands = std::count(open.hands.begin(), open.hands.end(), static_cast<int>(i));
    draw_card_words(c, text,
                    fmt::format("{}   {}{}", choice_letter(i), asked.choices[i],
                                hands == 0   ? ""
                                : hands == 1 ? "   (1 hand)"
                                             : fmt::format("   ({} hands)", hands)),
                    width, 4, c.px(8));
  }
  const bool is_revealed = c.lesson.answers.contains(asked.question->id);
  const auto& known = is_revealed ? c.lesson.answers : c.lesson.teachers_answers;
  const auto answer = known.find(asked.question->id);
  const TextStyle small = page_style(c, c.fonts.body, kCardSmall, c.theme.dim);
  if (answer == known.end()) return draw_card_words(c, small, "The answer is computed \u2026", width, 8);
  draw_card_words(c, page_style(c, c.fonts.bold, kCardText, c.theme.agreement),
                  "Right: " + answer->second.text, width, 4);
  if (!is_revealed) draw_card_words(c, small, "The class does not see it yet: Enter reveals it", width, 4);
  draw_card_words(c, text, answer->second.because, width, 8);
}

void draw_now(const Context& c) {
  const float width = ImGui::GetContentRegionAvail().x;
  const auto& view = c.view.of<LessonView>();
  const TextStyle title = page_style(c, c.fonts.bold, kCardTitle, c.theme.text);
  const TextStyle dim = page_style(c, c.fonts.body, kCardText, c.theme.dim);
  if (view.ended) return draw_card_words(c, title, "The end of the lesson", width, 12);
  draw_card_words(c, title, c.lesson.lesson->scenes[static_cast<size_t>(view.scene)].title, width, 12);
  const ShownScene* const scene = made_scene(c);
  if (scene == nullptr) return draw_card_words(c, dim, "The scene is made \u2026", width, 8);
  if (view.blank)
    draw_card_words(c, page_style(c, c.fonts.bold, kCardText, c.theme.text),
                    "The class's window is blank: . shows it", width, 12);
  if (scene->notes.empty())
    draw_card_words(c, dim, "This scene has no notes.", width, 12);
  else
    draw_card_text(c, scene->notes, width, c.theme.text);
  ImGui::Dummy({width, c.px(8)});
  if (const ShownQuestion* const asked = asked_question(c)) draw_asked(c, *asked, width);
}

/// The next question of this scene, else the next scene.
void draw_next(const Context& c) {
  const float width = ImGui::GetContentRegionAvail().x;
  const auto& view = c.view.of<LessonView>();
  const TextStyle small = page_style(c, c.fonts.bold, kCardSmall, c.theme.dim);
  const TextStyle title = page_style(c, c.fonts.bold, kCardText, c.theme.text);
  const TextStyle dim = page_style(c, c.fonts.body, kCardText, c.theme.dim);
  const auto say = [&](const TextStyle& style, const std::string& words, float below) {
    draw_card_words(c, style, words, width, below);
  };
  if (view.ended) return say(small, "Nothing comes next. F11 ends the lecture.", 0);
  const ShownScene* const scene = made_scene(c);
  const auto question = static_cast<size_t>(view.question) + 1, next = static_cast<size_t>(view.scene) + 1;
  if (view.away) {
    say(small, "PgDn: back to the scene", 8);
    say(dim, "The class sees something else than the scene.", 8);
  } else if (scene != nullptr && question < scene->questions.size()) {
    say(small, "PgDn: the next question", 8);
    say(title, scene->questions[question].ask, 8);
  } else if (next >= c.lesson.scenes.size()) {
    say(small, "PgDn: the end of the lesson", 8);
  } else {
    say(small, "PgDn: the next scene", 8);
    say(title, c.lesson.lesson->scenes[next].title, 8);
    const MadeScene& made = c.lesson.scenes[next];
    if (!made.problem.empty()) say(dim, "It cannot be shown. " + made.problem, 8);
    if (made.shown) draw_card_text(c, made.shown->text, width, c.theme.dim);
  }
}

void draw_page(const Context& c) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  draw_page_head(c, room.x);
  const TextStyle keys = page_style(c, c.fonts.body, kCardSmall, c.theme.dim);
  const float height = ImGui::GetContentRegionAvail().y - keys.size - c.px(8);
  const float next = std::floor(room.x * kNextOfWindow), gap = c.px(kApart);
  ImGui::BeginChild("now", {room.x - next - gap, height});
  draw_now(c);
  ImGui::EndChild();
  ImGui::SameLine(0, gap);
  ImGui::BeginChild("next", {next, height});
  draw_next(c);
  ImGui::EndChild();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + c.px(8)}, keys, fitted(keys, class_keys(c), room.x));
  ImGui::Dummy({room.x, keys.size});
}

}  // namespace

void draw_notes_page(const Context& c) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  ImGui::SetNextWindowPos(viewport.Pos);
  ImGui::SetNextWindowSize(viewport.Size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(c.px(kPagePadding), c.px(kPagePadding)));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(c.px(8), 0));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, c.theme.panel);
  ImGui::Begin("Notes of the lesson", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings);
  if (c.lesson.is_open()) draw_guarded(c, draw_page);
  ImGui::End();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
}

}  // namespace shardlens::ui
